/**
 * Table of paths and their methods, taken from the contract and the origin routes: for 405
 * with its `Allow` header, and for metrics that name routes instead of paths.
 */
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { handbookPaths } from "../handbook/HandbookPages.ts"
import { consolePath, mcpPath } from "../paths.ts"

const originPaths = [
  "/health/live",
  "/health/ready",
  "/metrics",
  "/openapi.json",
  "/docs",
  "/docs/page.js",
  "/docs/samples.js",
  "/docs/copy.js",
  "/docs/page.css",
  "/llms.txt",
  "/",
  consolePath,
  ...handbookPaths
] as const

interface KnownRoute {
  readonly method: string
  readonly path: string
  readonly pattern: RegExp
}

const routeOf = (method: string, path: string): KnownRoute => ({
  method,
  path,
  pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/:\w+/g, "[^/]+")}$`)
})

// Literal paths come before parameters, as the router prefers them: /memories/search is no id.
const routes: ReadonlyArray<KnownRoute> = [
  ...originPaths.map((path) => routeOf("GET", path)),
  // The names under which keys are published are configuration (`AttestationsHandlers.ts`).
  routeOf("GET", "/.well-known/:service-keys.json"),
  routeOf("POST", mcpPath),
  routeOf("GET", `${consolePath}/assets/:file`),
  ...["GET", "POST", "DELETE"].map((method) => routeOf(method, `${consolePath}/session`)),
  // Where a provider is configured (`OpenIdSignIn.ts`).
  ...["openid", "openid/callback"].map((name) => routeOf("GET", `${consolePath}/${name}`)),
  ...Object.values(MunimentApi.groups).flatMap((group) =>
    Object.values(group.endpoints).map((endpoint) => routeOf(endpoint.method, endpoint.path))
  )
].sort((left, right) => Number(left.path.includes(":")) - Number(right.path.includes(":")))

const methodsOf = (same: ReadonlyArray<KnownRoute>): ReadonlyArray<string> => [
  ...new Set(same.map(({ method }) => method))
]

/** Methods by literal path: what most requests name. */
const literalMethods: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  [...Map.groupBy(routes, ({ path }) => path)].map(([path, same]) => [path, methodsOf(same)])
)

/** Methods of a path; empty when there is no such path. */
export const allowedMethods = (path: string): ReadonlyArray<string> =>
  literalMethods.get(path) ?? methodsOf(routes.filter((route) => route.pattern.test(path)))

/** The pattern that a request falls under, as a label of metrics. */
export const routePattern = (method: string, path: string): string =>
  literalMethods.get(path)?.includes(method) === true
    ? path
    : (routes.find((route) => route.method === method && route.pattern.test(path))?.path ?? "unknown")
