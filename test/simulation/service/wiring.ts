/**
 * Puts the simulator's ports under the service's modules while they load, and a fault that is wanted into one of them.
 * Production code has no switch for either.
 */
import { registerHooks, stripTypeScriptTypes } from "node:module"
import type { Mutation } from "./mutations.ts"

const here = (name: string): string => new URL(name, import.meta.url).href
const logModules = /\/packages\/engine\/src\/log\/[^/]+$/
const copySync = /\/store\/sqlite\/syncCopy\.ts$/

const stands = new Map([
  ["@muniment/worker/WorkerThread", here("./InlineThread.ts")],
  ["@muniment/worker/WorkerEntry", here("./InlineEntry.ts")]
])
const disks = new Map([
  ["node:fs", here("./LogDisk.ts")],
  ["node:fs/promises", here("./LogDiskPromises.ts")]
])

const standOf = (specifier: string, parent: string): string | undefined => {
  if (logModules.test(parent)) return disks.get(specifier)
  return copySync.test(parent) && specifier === "node:fs/promises" ? here("./SyncedFiles.ts") : undefined
}

/** Call it before the first module of the service is loaded. */
export const wire = (mutation: Mutation | undefined): void => {
  // The entries of threads are loaded once a life, under another query: found, read and stripped of types once.
  const urls = new Map<string, string>()
  const sources = new Map<string, string>()
  registerHooks({
    resolve: (specifier, context, next) => {
      const parent = context.parentURL?.split("?")[0] ?? ""
      const known = urls.get(`${parent} ${specifier}`)
      if (known !== undefined) return { url: known, shortCircuit: true }
      const stand = stands.get(specifier) ?? standOf(specifier, parent)
      if (stand === undefined && !isEntry(context.parentURL)) return next(specifier, context)
      const url = stand ?? next(specifier, context).url
      urls.set(`${parent} ${specifier}`, url)
      return { url, shortCircuit: true }
    },
    load: (url, context, next) => {
      const path = url.split("?")[0]!
      const known = sources.get(path)
      if (known !== undefined) return { format: "module", source: known, shortCircuit: true }
      const isMutated = mutation !== undefined && path.endsWith(`/${mutation.file}`)
      if (!isMutated && !isEntry(url)) return next(url, context)
      const loaded = next(url, context)
      const source = isMutated ? mutated(String(loaded.source), mutation) : String(loaded.source)
      if (!isEntry(url)) return { ...loaded, source }
      sources.set(path, stripTypeScriptTypes(source))
      return { format: "module", source: sources.get(path)!, shortCircuit: true }
    }
  })
}

const isEntry = (url = ""): boolean => url.includes("?life=")

const mutated = (text: string, { file, from, name, to }: Mutation): string => {
  if (text.split(from).length !== 2) throw new Error(`mutation ${name}: its text is not once in ${file}`)
  return text.replace(from, () => to)
}
