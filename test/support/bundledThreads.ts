/**
 * Plugin of the system tests: threads of the service that a test starts in its own process run out of the bundle that
 * `npm start` runs (`scripts/service.ts`). From the sources each would find, strip and compile hundreds of modules.
 */
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Plugin } from "vitest/config"
import { serviceEntry } from "../../scripts/service.ts"

const source = /\/packages\/\w+\/src\/.*\.ts$/
const workerUrl = /new URL\("\.\/(\w+Worker)\.ts", import\.meta\.url\)/g

export const bundledThreads = (): Plugin => {
  let entry: Promise<string> | undefined
  return {
    name: "bundled-threads",
    enforce: "pre",
    async transform(code, id) {
      if (!source.test(id) || !code.includes('Worker.ts", import.meta.url)')) return undefined
      const folder = dirname(await (entry ??= serviceEntry()))
      const asBundled = (_: string, name: string) => `new URL("${pathToFileURL(join(folder, `${name}.js`)).href}")`
      // The lines stay where they are.
      return { code: code.replaceAll(workerUrl, asBundled), map: null }
    }
  }
}
