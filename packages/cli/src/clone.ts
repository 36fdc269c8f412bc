/**
 * Entry of a clone, which runs some thousand modules from their sources: Node keeps what it compiled of them, so that a
 * command takes half of the processor time and a start of the service two thirds. The installed package is bundled, and
 * gains too little.
 */
import { enableCompileCache } from "node:module"
import { join } from "node:path"

enableCompileCache(join(import.meta.dirname, "../../../node_modules/.cache/compiled"))
await import("./bin.ts")
