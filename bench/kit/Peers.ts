/**
 * Peers and the chart library are packages of `bench/peers`, installed apart from the service. They may be missing, or
 * not run on this platform: a caller names in its report what it could not load, and goes on without it.
 *
 * The tree type-checks without them: a caller declares a narrow interface of what it uses, and a guard that checks it.
 */
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

export const peersDirectory = join(import.meta.dirname, "..", "peers")

export interface LoadedPeer<Module> {
  readonly name: string
  readonly version: string
  readonly module: Module
}

export interface MissingPeer {
  readonly name: string
  /** Why it could not be loaded: a note for the report. */
  readonly reason: string
}

/** A package of `bench/peers`, as `isModule` recognises it. */
export const loadPeer = async <Module>(
  name: string,
  isModule: (loaded: unknown) => loaded is Module
): Promise<LoadedPeer<Module> | MissingPeer> => {
  try {
    const require = createRequire(join(peersDirectory, "package.json"))
    const loaded: unknown = await import(pathToFileURL(require.resolve(name)).href)
    // CommonJS puts everything under "default" as well; take whichever has the expected shape.
    const candidates = [loaded, hasDefault(loaded) ? loaded.default : undefined]
    const module = candidates.find((candidate) => isModule(candidate))
    if (module === undefined) return { name, reason: "its exports are not those this bench was written for" }
    return { name, version: await installedVersion(name), module }
  } catch (cause) {
    return { name, reason: firstLine(cause instanceof Error ? cause.message : String(cause)) }
  }
}

export const isMissing = (peer: LoadedPeer<unknown> | MissingPeer): peer is MissingPeer => "reason" in peer

/** A line for a report's notes. */
export const peerNote = (peer: LoadedPeer<unknown> | MissingPeer): string =>
  isMissing(peer) ? `${peer.name} was left out: ${peer.reason}` : `${peer.name} ${peer.version}`

const installedVersion = async (name: string): Promise<string> => {
  const path = pathToFileURL(join(peersDirectory, "node_modules", name, "package.json")).href
  const manifest: unknown = await import(path, { with: { type: "json" } })
  const content = hasDefault(manifest) ? manifest.default : undefined
  return typeof content === "object" && content !== null && "version" in content ? String(content.version) : "unknown"
}

const hasDefault = (value: unknown): value is { readonly default: unknown } =>
  typeof value === "object" && value !== null && "default" in value

// The rest is a stack of paths of this machine; so is what a resolver says after "Require stack:".
const firstLine = (message: string): string => message.split("\n")[0]?.replaceAll(peersDirectory, "bench/peers") ?? ""
