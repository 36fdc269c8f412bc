/**
 * The folder of the published `muniment`, the service with its command line, and those of its native parts: the
 * library of ONNX Runtime for one platform each, of which npm installs the one that fits. (`onnxruntime-node` brings
 * those of all platforms, 290 MB, and loads more when it is installed.) Everything else is bundled.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { handbookPages } from "@muniment/server/handbook/HandbookPages"
import { buildConsole } from "../console.ts"
import { billOf, componentsOf, noticesOf } from "./BillOfMaterials.ts"
import { bundleService } from "./ServiceBundle.ts"

/** Those for which ONNX Runtime has a library. */
export const platforms = ["darwin-arm64", "linux-arm64", "linux-x64", "win32-arm64", "win32-x64"] as const
export type PackedPlatform = (typeof platforms)[number]

/** Read at run time beside the modules; the paths are those of the repository. */
const assets = [
  "packages/engine/kernels/kernels.wasm",
  "packages/insight/kernels/rowProducts.wasm",
  ...["page.js", "samples.js", "copy.js", "page.css"].map((name) => `packages/server/src/docs/${name}`),
  ...handbookPages.map(({ file }) => file)
]

const nativeName = (platform: PackedPlatform): string => `@muniment/onnxruntime-${platform}`

export const buildService = async (root: string, folder: string): Promise<void> => {
  const { license, version } = manifestOf(join(root, "packages", "cli"))
  const { inputs } = await bundleService(root, folder)
  for (const path of assets) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  await buildConsole(join(folder, "packages", "console", "dist"))
  const components = componentsOf(root, [...Object.keys(inputs), ...consoleLibraries])
  writeFileSync(join(folder, "bom.cdx.json"), billOf("muniment", version, components))
  writeFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), noticesOf(components))
  for (const name of ["LICENSE", "README.md"]) cpSync(join(root, name), join(folder, name))
  writeManifest(folder, {
    name: "muniment",
    version,
    description: "Self-hosted long-term memory for software agents",
    license,
    type: "module",
    bin: { muniment: "dist/installed.js" },
    engines: { node: "^22.20 || >=24.7" },
    files: [".github", "dist", "packages", "bom.cdx.json", "THIRD-PARTY-NOTICES.txt"],
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [nativeName(platform), version]))
  })
}

/** What the console's bundle takes in. */
const consoleLibraries = ["preact", "@preact/signals", "@preact/signals-core"].map((name) => `node_modules/${name}/x`)

/** `runtime`: an installed or unpacked `onnxruntime-node` that has the platform's library. */
export const buildNative = (root: string, runtime: string, platform: PackedPlatform, folder: string): void => {
  const [os, cpu] = platform.split("-") as [string, string]
  const libraries = join(runtime, "bin", "napi-v6", os, cpu)
  const { version } = manifestOf(join(root, "packages", "cli"))
  const { license, version: runtimeVersion } = manifestOf(runtime)
  for (const name of readdirSync(libraries).sort()) cpSync(join(libraries, name), join(folder, name))
  writeFileSync(
    join(folder, "README.md"),
    `# ${nativeName(platform)}\n\nThe library of ONNX Runtime ${runtimeVersion} (${license}, Microsoft Corporation, https://onnxruntime.ai) for ${platform}, as \`onnxruntime-node\` brings it. \`muniment\` loads it.\n`
  )
  writeManifest(folder, {
    name: nativeName(platform),
    version,
    description: `ONNX Runtime ${runtimeVersion} for ${platform}, for muniment`,
    license,
    main: "./onnxruntime_binding.node",
    os: [os],
    cpu: [cpu],
    ...(os === "linux" && { libc: ["glibc"] })
  })
}

/** Whether the library of `platform` is in `runtime`; an install keeps only that of its own. */
export const hasNative = (runtime: string, platform: PackedPlatform): boolean =>
  existsSync(join(runtime, "bin", "napi-v6", ...platform.split("-")))

interface Manifest {
  readonly version: string
  readonly license: string
}

const manifestOf = (home: string): Manifest => JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest

const writeManifest = (folder: string, manifest: object): void =>
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`)
