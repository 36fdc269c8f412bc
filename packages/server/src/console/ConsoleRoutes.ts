/**
 * The console's page at `/console` and its files, as the set-up built them (`packages/console`). A file is read and
 * packed at its first request; its name holds its digest, so that browsers keep it for good.
 *
 * Invariant: the page loads nothing from another origin, runs no inline script, and stands in no frame;
 * `contentSecurityPolicy` holds browsers to it.
 */
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { consolePath } from "../paths.ts"

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const built = new URL("../../../console/dist/", import.meta.url)

const pageHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-cache",
  vary: "accept-encoding"
}
const assetHeaders = { "cache-control": "public, max-age=31536000, immutable", vary: "accept-encoding" }

const contentTypes: ReadonlyMap<string, string> = new Map([
  ["js", "text/javascript; charset=utf-8"],
  ["css", "text/css; charset=utf-8"],
  ["svg", "image/svg+xml"]
])

/** Digests of the build: nothing else is a file of the console. */
const assetName = /^[a-z]+-[A-Z0-9]{8}\.(js|css|svg)$/

interface BuiltFile {
  readonly plain: Uint8Array
  readonly packed: Uint8Array
}

const readBuilt = async (folder: URL, name: string): Promise<BuiltFile | undefined> => {
  const plain = await readFile(new URL(name, folder)).catch(() => undefined)
  return plain === undefined ? undefined : { plain, packed: await promisify(gzip)(plain, { level: 9 }) }
}

const answer = (
  { packed, plain }: BuiltFile,
  contentType: string,
  headers: Readonly<Record<string, string>>,
  request: HttpServerRequest.HttpServerRequest
) => {
  const takesPacked = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "")
  return HttpServerResponse.uint8Array(takesPacked ? packed : plain, {
    contentType,
    headers: takesPacked ? { ...headers, "content-encoding": "gzip" } : headers
  })
}

const notBuilt = HttpServerResponse.text("The console is not built: run `npm run setup`.\n", {
  status: 503,
  headers: { "retry-after": "10", "cache-control": "no-store" }
})
const noFile = HttpServerResponse.jsonUnsafe(
  { success: false, error: "there is no such file of the console", code: "route_not_found" },
  { status: 404 }
)

/** Files that were asked for; those that are not there are looked for again. */
const cachedFiles = (folder: URL) => {
  const files = new Map<string, BuiltFile>()
  return (name: string) =>
    Effect.promise(async () => {
      const known = files.get(name)
      if (known !== undefined) return known
      const found = await readBuilt(folder, name)
      if (found !== undefined) files.set(name, found)
      return found
    })
}

/** `folder`: of the build. */
export const consoleRoutes = (options: { readonly isOn: boolean; readonly folder?: URL }) => {
  const home = HttpRouter.add(
    "GET",
    "/",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      options.isOn && (headers["accept"] ?? "").includes("text/html")
        ? HttpServerResponse.redirect(consolePath, { status: 302 })
        : HttpServerResponse.jsonUnsafe({ ...places, ...(options.isOn && { console: consolePath }) })
    )
  )
  if (!options.isOn) return home
  const fileOf = cachedFiles(options.folder ?? built)
  return Layer.mergeAll(
    home,
    HttpRouter.add(
      "GET",
      consolePath,
      Effect.gen(function* () {
        const page = yield* fileOf("index.html")
        if (page === undefined) return notBuilt
        return answer(page, "text/html; charset=utf-8", pageHeaders, yield* HttpServerRequest.HttpServerRequest)
      })
    ),
    HttpRouter.add(
      "GET",
      `${consolePath}/assets/:file`,
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { file = "" } = yield* HttpRouter.params
        const contentType = contentTypes.get(assetName.exec(file)?.[1] ?? "")
        const found = contentType === undefined ? undefined : yield* fileOf(`assets/${file}`)
        return found === undefined || contentType === undefined
          ? noFile
          : answer(found, contentType, assetHeaders, request)
      })
    )
  )
}

/** For programs that ask at the root. */
const places = {
  service: "muniment",
  api: "/v1",
  mcp: "/mcp",
  openapi: "/openapi.json",
  docs: "/docs",
  text: "/llms.txt",
  health: "/health/ready"
}
