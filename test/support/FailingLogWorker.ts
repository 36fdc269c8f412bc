/**
 * The log thread on a disk that fails: `?call=fdatasyncSync&code=EIO&at=3` lets that call of node:fs fail from the
 * third time on; with `once=1` only then. With `ends=1` the thread ends in it, as for want of memory.
 */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const wanted = new URL(import.meta.url).searchParams
const name = wanted.get("call") === "writevSync" ? "writevSync" : "fdatasyncSync"
const at = Number(wanted.get("at"))
const real = fs[name].bind(fs) as (...args: ReadonlyArray<unknown>) => unknown
let calls = 0

const failing = (...args: ReadonlyArray<unknown>): unknown => {
  calls++
  const fails = wanted.get("once") === "1" ? calls === at : calls >= at
  if (fails && wanted.get("ends") === "1") process.exit(1)
  if (fails) throw Object.assign(new Error(`${wanted.get("code")}: injected`), { code: wanted.get("code") })
  return real(...args)
}
Object.defineProperty(fs, name, { value: failing })
syncBuiltinESMExports()
await import("../../packages/engine/src/log/LogWorker.ts")
