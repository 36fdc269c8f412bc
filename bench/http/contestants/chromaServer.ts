/**
 * Chroma's own server (`chroma run`), called the way its package calls it. The bindings of the pinned
 * package want a newer C library than long-term distributions have; where they do not load, an older
 * release of the same bindings is taken, and the report names the version that answered.
 */
import { createRequire } from "node:module"
import { join } from "node:path"
import { peersDirectory } from "../../kit/Peers.ts"
import { dataDirectory } from "./Peer.ts"

interface Bindings {
  readonly cli: (words: ReadonlyArray<string>) => void
}

const platform = `chromadb-js-bindings-${process.platform}-${process.arch}${process.platform === "linux" ? "-gnu" : ""}`
const candidates = [platform, "chromadb-bindings-older"]

const load = (): Bindings => {
  const require = createRequire(join(peersDirectory, "package.json"))
  const reasons: Array<string> = []
  for (const name of candidates) {
    try {
      return require(name) as Bindings
    } catch (cause) {
      reasons.push(cause instanceof Error ? cause.message : String(cause))
    }
  }
  throw new Error(reasons.join("; "))
}

const port = process.env["PEER_PORT"] ?? ""
load().cli(["chroma", "run", "--path", dataDirectory(), "--host", "127.0.0.1", "--port", port])
