/**
 * The service and the command line as ES modules in `dist`, by esbuild: the entry of the command line, one file for
 * each worker thread, and what they share. Invariants: what a module reads beside itself lies at its path in the
 * repository, below the package's root; nothing native is bundled.
 */
import { build, type Metafile, type Plugin } from "esbuild"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

/** Loaded where they are installed and configured; the service runs without them. */
const absentPackages = ["pg-native", "bufferutil", "utf-8-validate"]

/**
 * Keeps memory small: one heap of the C library for all threads, whose buffers of 16 KiB and more go back to the system
 * when they are free, and small nurseries for new objects. Linux before 5.1 reads 127 characters of this line.
 */
const interpreter = [
  "#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=16384 MALLOC_TRIM_THRESHOLD_=65536",
  "node --max-semi-space-size=2"
].join(" ")

const workerSource = /Worker\.ts$/
const workerUrl = /new URL\("\.\/(\w+Worker)\.ts", import\.meta\.url\)/g

/** `others`: more entries, which tests run over the service's modules. */
export const bundleService = async (
  root: string,
  folder: string,
  others: ReadonlyArray<string> = []
): Promise<Metafile> => {
  const { metafile } = await build({
    entryPoints: [join(root, "packages/cli/src/installed.ts"), ...workerEntries(root), ...others],
    outdir: join(folder, "dist"),
    entryNames: "[name]",
    chunkNames: "shared-[hash]",
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: ["node22.20"],
    minifySyntax: true,
    minifyWhitespace: true,
    minifyIdentifiers: true,
    keepNames: true,
    legalComments: "none",
    external: absentPackages,
    // CommonJS modules among the libraries load Node's own by `require`.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
    },
    metafile: true,
    logLevel: "warning",
    plugins: [places(root), nativeRuntime, withoutForeignPages]
  })
  const entry = join(folder, "dist", "installed.js")
  writeFileSync(entry, `${interpreter}\n${readFileSync(entry, "utf8")}`, { mode: 0o755 })
  return metafile
}

const workerEntries = (root: string): ReadonlyArray<string> =>
  readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
    .filter((path) => workerSource.test(path) && /^[^/\\]+[/\\]src[/\\]/.test(path))
    .map((path) => join(root, "packages", path))
    .sort()

const effectImport = /^import \{ ([^}]+) \} from "(effect(?:\/[a-z-]+)?)"$/gm
/**
 * Through Effect's lists of modules esbuild takes what any entry uses of a list for part of all entries: each thread would
 * load what only the service uses, and a service on one machine what only a cluster needs.
 */
const byModule = (_: string, names: string, folder: string): string =>
  names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "))
    .map((name) => {
      const [module, as = module] = name.split(" as ")
      const isModule = /^[A-Z]/.test(name)
      return isModule ? `import * as ${as} from "${folder}/${module}"` : `import { ${name} } from "effect/Function"`
    })
    .join("; ")

/** A module's URL is where its source lies in the repository; a worker's is its file in `dist`. */
const places = (root: string): Plugin => ({
  name: "places",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\]packages[/\\]\w+[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8")
      if (!/import\.meta|npm run|"effect[/"]/.test(source)) return undefined
      const place = relative(root, path).split("\\").join("/")
      const contents = source
        .replaceAll(effectImport, byModule)
        .replaceAll(workerUrl, 'new URL("./$1.js", import.meta.ownUrl)')
        // A library in CommonJS: bundled like the others.
        .replaceAll("createRequire(import.meta.url)(", "require(")
        .replaceAll("import.meta.url", `new URL("../${place}", import.meta.ownUrl).href`)
        .replaceAll("import.meta.ownUrl", "import.meta.url")
        // What people are told to run.
        .replaceAll("npm run muniment -- ", "muniment ")
        .replaceAll("npm run setup", "muniment models fetch")
      return { contents, loader: "ts" }
    })
  }
})

/** Pages for an API that Effect brings, 5 MB of text: the service has its own, and asks for none of them. */
const withoutForeignPages: Plugin = {
  name: "without-foreign-pages",
  setup: ({ onLoad }) => {
    onLoad({ filter: /effect[/\\]dist[/\\]http-api[/\\]internal[/\\]httpApi(Scalar|Swagger)\.js$/ }, ({ path }) => {
      const texts = readFileSync(path, "utf8").matchAll(/(?:^|\*\/)export const (\w+) ?=/gm)
      return { contents: Array.from(texts, ([, name]) => `export const ${name} = ""`).join("\n"), loader: "js" }
    })
  }
}

/** The library of ONNX Runtime comes in a package for each platform; its JavaScript is bundled. */
const nativeRuntime: Plugin = {
  name: "native-runtime",
  setup: ({ onLoad }) => {
    onLoad({ filter: /transformers[/\\]dist[/\\]transformers\.node\.mjs$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8").replace(
        'requireFromHere("onnxruntime-node")',
        'require("onnxruntime-node")'
      )
      return { contents, loader: "js" }
    })
    onLoad({ filter: /onnxruntime-node[/\\]dist[/\\]binding\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8").replace(
        /require\(`\.\.\/bin\/[^`]*`\)/,
        "require(`@muniment/onnxruntime-${process.platform}-${process.arch}`)"
      )
      return { contents, loader: "js" }
    })
  }
}
