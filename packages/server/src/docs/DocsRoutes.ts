/**
 * The page at `/docs`: the contract for people, with forms that call the service. It shows `/openapi.json` as the
 * service serves it. Its scripts run in the browser as they are.
 *
 * Invariant: the page loads nothing from another origin and calls none; `contentSecurityPolicy` holds browsers to it.
 */
import { readFileSync } from "node:fs"
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { handbookPath } from "../handbook/HandbookPages.ts"
import { consolePath } from "../paths.ts"

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'"
].join("; ")

/** Paths are relative to the page, so that a proxy may serve it below a path. */
const page = (hasConsole: boolean) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muniment</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/page.css">
<script type="module" src="docs/page.js"></script>
</head>
<body>
<nav aria-label="Pages"><a href="docs">API</a> | <a href="${handbookPath.slice(1)}">Handbook</a> | <a href="openapi.json">OpenAPI</a> | <a href="llms.txt">llms.txt</a>${hasConsole ? ` | <a href="${consolePath.slice(1)}">Console</a>` : ""}</nav>
<form role="search" action="${handbookPath.slice(1)}"><label><span>Search the handbook</span><input type="search" name="q"></label></form>
<header>
<h1>Muniment</h1>
<div id="description"></div>
<form><label><span>API key, or the operator token for routes below /admin; it is sent with every call and not stored</span><input id="key" type="password" autocomplete="off"></label></form>
</header>
<div class="columns">
<nav id="menu" aria-label="Operations"></nav>
<main id="operations"><noscript>This page needs JavaScript; the contract is in openapi.json.</noscript></main>
</div>
</body>
</html>
`

const file = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8")

const script = (name: string) =>
  HttpRouter.add(
    "GET",
    `/docs/${name}`,
    HttpServerResponse.text(file(name), { contentType: "text/javascript; charset=utf-8" })
  )

export const docsRoutes = (hasConsole: boolean) =>
  Layer.mergeAll(
    HttpRouter.add(
      "GET",
      "/docs",
      HttpServerResponse.text(page(hasConsole), {
        contentType: "text/html; charset=utf-8",
        headers: { "content-security-policy": contentSecurityPolicy, "referrer-policy": "no-referrer" }
      })
    ),
    script("page.js"),
    script("samples.js"),
    script("copy.js"),
    HttpRouter.add(
      "GET",
      "/docs/page.css",
      HttpServerResponse.text(file("page.css"), { contentType: "text/css; charset=utf-8" })
    )
  )
