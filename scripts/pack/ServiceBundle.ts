/**
 * The service and the command line as ES modules in `dist`, by esbuild: the entry of the command line, one file for
 * each worker thread, and what they share. Invariants: what a module reads beside itself lies at its path in the
 * repository, below the package's root; nothing native is bundled.
 */
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { smallMemory } from "./smallMemory.ts"

/** Loaded where they are installed and configured; the service runs without them. */
const absentPackages = ["pg-native", "bufferutil", "utf-8-validate"]

/** Linux before 5.1 reads 127 characters of it. */
const interpreter = [
  "#!/usr/bin/env -S",
  ...Object.entries(smallMemory.environment).map(([name, value]) => `${name}=${value}`),
  "node",
  ...smallMemory.nodeOptions
].join(" ")

const workerSource = /Worker\.ts$/
const workerUrl = /new URL\("\.\/(\w+Worker)\.ts", import\.meta\.url\)/g

/** As it is published. */
export const bundleService = async (root: string, folder: string): Promise<Metafile> => {
  const metafile = await bundle(root, folder, {
    entryPoints: [join(root, "packages/cli/src/installed.ts")],
    minifyIdentifiers: true,
    plugins: [places(publishedPlace), nativeRuntime, withoutForeignPages]
  })
  const entry = join(folder, "dist", "installed.js")
  writeFileSync(entry, `${interpreter}\n${readFileSync(entry, "utf8")}`, { mode: 0o755 })
  return metafile
}

/**
 * As it runs in the clone `root`, whose files and native libraries it uses; the entry is `dist/bin.js`. `others`: more
 * entries, which tests run over the service's modules.
 */
export const bundleClone = (root: string, folder: string, others: ReadonlyArray<string> = []): Promise<Metafile> =>
  bundle(root, folder, {
    entryPoints: [join(root, "packages/cli/src/bin.ts"), ...others],
    external: ["onnxruntime-node"],
    plugins: [places(clonePlace), installedRuntime, withoutForeignPages]
  })

const bundle = async (
  root: string,
  folder: string,
  { entryPoints, external = [], ...options }: BuildOptions & { readonly entryPoints: ReadonlyArray<string> }
): Promise<Metafile> => {
  const { metafile } = await build({
    entryPoints: [...entryPoints, ...workerEntries(root)],
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
    keepNames: true,
    legalComments: "none",
    external: [...absentPackages, ...external],
    // CommonJS modules among the libraries load Node's own by `require`.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
    },
    logLevel: "warning",
    ...options,
    metafile: true
  })
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

/** What a module says of its place, in the words of a bundle: of its URL, and of the commands that people are told. */
type Place = (root: string, path: string, source: string) => string

const publishedPlace: Place = (root, path, source) =>
  source
    .replaceAll(
      "import.meta.url",
      `new URL("../${relative(root, path).split("\\").join("/")}", import.meta.ownUrl).href`
    )
    .replaceAll("npm run muniment -- ", "muniment ")
    .replaceAll("npm run setup", "muniment models fetch")

const clonePlace: Place = (_, path, source) =>
  source.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href))

/** A module's URL is where its source lies, as `place` says; a worker's is its file in `dist`. */
const places = (place: Place): Plugin => ({
  name: "places",
  setup: ({ initialOptions: { absWorkingDir: root = "" }, onLoad }) => {
    onLoad({ filter: /[/\\]packages[/\\]\w+[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8")
      if (!/import\.meta|npm run|"effect[/"]/.test(source)) return undefined
      const bundled = source
        .replaceAll(effectImport, byModule)
        .replaceAll(workerUrl, 'new URL("./$1.js", import.meta.ownUrl)')
        // A library in CommonJS: bundled like the others.
        .replaceAll("createRequire(import.meta.url)(", "require(")
      return { contents: place(root, path, bundled).replaceAll("import.meta.ownUrl", "import.meta.url"), loader: "ts" }
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

const transformers = /transformers[/\\]dist[/\\]transformers\.node\.mjs$/

/** Of a package that is not a module's own, `require` is the bundle's. */
const requireRuntime = (path: string) => ({
  contents: readFileSync(path, "utf8").replace('requireFromHere("onnxruntime-node")', 'require("onnxruntime-node")'),
  loader: "js" as const
})

/** ONNX Runtime as npm has installed it. */
const installedRuntime: Plugin = {
  name: "installed-runtime",
  setup: ({ onLoad }) => onLoad({ filter: transformers }, ({ path }) => requireRuntime(path))
}

/** The library of ONNX Runtime comes in a package for each platform; its JavaScript is bundled. */
const nativeRuntime: Plugin = {
  name: "native-runtime",
  setup: ({ onLoad }) => {
    onLoad({ filter: transformers }, ({ path }) => requireRuntime(path))
    onLoad({ filter: /onnxruntime-node[/\\]dist[/\\]binding\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8").replace(
        /require\(`\.\.\/bin\/[^`]*`\)/,
        "require(`@muniment/onnxruntime-${process.platform}-${process.arch}`)"
      )
      return { contents, loader: "js" }
    })
  }
}
