/**
 * The service as it is published, for tests that start it hundreds of times: most of a start from its sources is
 * finding and reading them. It is built once per worker, into the run's temporary files, and says the same.
 */
import { mkdirSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildNative, buildService, platforms } from "../../scripts/pack/ServicePackage.ts"
import { repository } from "./TestServer.ts"

let built: Promise<string> | undefined

/** The file that Node runs, in the place of the command line's source. */
export const bundledEntry = (): Promise<string> => (built ??= build())

const build = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-bundle-"))
  await buildService(repository, folder)
  const platform = platforms.find((one) => one === `${process.platform}-${process.arch}`)
  if (platform !== undefined) {
    const native = join(folder, "node_modules", "@muniment", `onnxruntime-${platform}`)
    mkdirSync(native, { recursive: true })
    buildNative(repository, join(repository, "node_modules", "onnxruntime-node"), platform, native)
  }
  return join(folder, "dist", "installed.js")
}
