/**
 * Puts the simulator's ports under the service's modules while they load, and a fault that is wanted into one of them.
 * Production code has no switch for either.
 */
import { registerHooks } from "node:module"
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
  registerHooks({
    resolve: (specifier, context, next) => {
      const parent = context.parentURL?.split("?")[0] ?? ""
      const stand = stands.get(specifier) ?? standOf(specifier, parent)
      return stand === undefined ? next(specifier, context) : { url: stand, shortCircuit: true }
    },
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (mutation === undefined || !url.split("?")[0]!.endsWith(`/${mutation.file}`)) return loaded
      const text = String(loaded.source)
      if (text.split(mutation.from).length !== 2)
        throw new Error(`mutation ${mutation.name}: its text is not once in ${mutation.file}`)
      return { ...loaded, source: text.replace(mutation.from, () => mutation.to) }
    }
  })
}
