/**
 * Puts the simulator's ports under the service's modules while they load, and a fault that is wanted into one of them.
 * Production code has no switch for either.
 */
import { readFileSync } from "node:fs"
import { registerHooks, stripTypeScriptTypes } from "node:module"
import { join } from "node:path"
import type { Mutation } from "./mutations.ts"

const here = (name: string): string => new URL(name, import.meta.url).href
const logModules = /\/packages\/engine\/src\/log\/[^/]+$/

const stands = new Map([
  ["@muniment/worker/WorkerThread", here("./InlineThread.ts")],
  ["@muniment/worker/WorkerEntry", here("./InlineEntry.ts")]
])
const disks = new Map([
  ["node:fs", here("./LogDisk.ts")],
  ["node:fs/promises", here("./LogDiskPromises.ts")]
])

/** Stands for imports of single modules. */
const places: ReadonlyArray<readonly [file: string, specifier: string, stand: string]> = [
  ["packages/server/src/App.ts", "./http/Listener.ts", here("./whole/ListenerStand.ts")],
  ["packages/server/src/ServerLayer.ts", "./http/ListenAddress.ts", here("./whole/ListenerStand.ts")],
  ["packages/payments/src/Payments.ts", "./PaymentNetworks.ts", here("./whole/SimulatedChain.ts")],
  ["packages/server/src/http/Middleware.ts", "node:crypto", here("./whole/SeededCrypto.ts")],
  ["packages/server/src/DataDirectory.ts", "node:crypto", here("./whole/SeededCrypto.ts")]
]
for (const [file, specifier] of places) {
  const text = readFileSync(join(import.meta.dirname, "../../..", file), "utf8")
  if (!text.includes(`from "${specifier}"`)) throw new Error(`${file} does not import ${specifier}: move its stand`)
}

const standOf = (specifier: string, parent: string): string | undefined => {
  const place = places.find(([file, name]) => name === specifier && parent.endsWith(`/${file}`))
  if (place !== undefined) return place[2]
  return logModules.test(parent) ? disks.get(specifier) : undefined
}

/** Call it before the first module of the service is loaded. */
export const wire = (mutation: Mutation | undefined): void => {
  registerHooks({
    resolve: (specifier, context, next) => {
      const stand = stands.get(specifier) ?? standOf(specifier, context.parentURL?.split("?")[0] ?? "")
      return stand === undefined ? next(specifier, context) : { url: stand, shortCircuit: true }
    },
    load: (url, context, next) => {
      const path = url.split("?")[0]!
      const changes = [...settings, ...(mutation === undefined ? [] : [mutation])]
      const changed = changes.filter(({ file }) => path.endsWith(`/${file}`))
      if (changed.length === 0 && path === url) return next(url, context)
      const loaded = next(url, context)
      const source = changed.reduce(mutated, String(loaded.source))
      if (path === url) return { ...loaded, source }
      return { format: "module", source: startable(stripTypeScriptTypes(source)), shortCircuit: true }
    }
  })
}

/** An entry of threads, whose state a module holds once, as a function that begins with a state of its own. */
const startable = (entry: string): string => {
  const imports = entry.match(/^import [^"]*"[^"]+"$/gm) ?? []
  const body = imports.reduce((rest, line) => rest.replace(line, ""), entry)
  return `${imports.join("\n")}\nexport const start = () => {${body}\n}`
}

const settings: ReadonlyArray<Mutation> = [
  {
    name: "no log, whose lines would stand among the simulator's",
    file: "packages/server/src/Config.ts",
    from: "Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson])",
    to: "Logger.layer([])"
  },
  {
    name: "small segments, so that a run passes from one to the next",
    file: "packages/engine/src/log/segmentFiles.ts",
    from: "segmentBytesDefault = 2_097_152",
    to: "segmentBytesDefault = 8_192"
  },
  {
    name: "a small ballast, since every seed writes one",
    file: "packages/domain/src/Limits.ts",
    from: "filesystemBallastBytes: 6_291_456",
    to: "filesystemBallastBytes: 65_536"
  },
  {
    name: "small tables of callers, since every life makes some",
    file: "packages/domain/src/Limits.ts",
    from: "rateLimitedCallersMax: 50_000",
    to: "rateLimitedCallersMax: 64"
  },
  {
    name: "small tables of schemas, for the same reason",
    file: "packages/schemas/src/ValidationLane.ts",
    from: "entriesMax: 4_096",
    to: "entriesMax: 64"
  },
  {
    name: "a small table of signatures, for the same reason",
    file: "packages/trust/src/SignatureVerifier.ts",
    from: "verifiedSignaturesMax = 10_000",
    to: "verifiedSignaturesMax = 64"
  },
  {
    name: "no processor time, which the seed does not decide",
    file: "packages/server/src/operator/series/ServiceSeries.ts",
    from: "const { system, user } = process.cpuUsage()",
    to: "const { system, user } = { system: 0, user: 0 }"
  },
  {
    name: "no memory of this process, for the same reason",
    file: "packages/server/src/operator/series/ServiceSeries.ts",
    from: "process.memoryUsage.rss()",
    to: "0"
  },
  {
    name: "no rounds of the gate, which requests pass by",
    file: "packages/server/src/admission/Admission.ts",
    from: "overdueRoundMillis = 100",
    to: "overdueRoundMillis = 86_400_000_000"
  },
  {
    name: "no measuring of this machine's speed",
    file: "packages/server/src/ServerLayer.ts",
    from: 'calibrationDelay = "5 seconds"',
    to: 'calibrationDelay = "1000 days"'
  }
]

const mutated = (text: string, { file, from, name, to }: Mutation): string => {
  if (text.split(from).length !== 2) throw new Error(`mutation ${name}: its text is not once in ${file}`)
  return text.replace(from, () => to)
}
