/**
 * The handbook at `/docs/handbook`: an index and its pages, without credentials. A page is read and rendered at its
 * first request and kept: later requests cost no time of the event loop, and a start loads no Markdown.
 *
 * Invariant: a page loads nothing and runs no script; `contentSecurityPolicy` holds browsers to it.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { type HandbookPage, handbookPagePath, handbookPages, handbookPath } from "./HandbookPages.ts"

const style = `
body { margin: 0 auto; padding: 1rem 1.25rem 4rem; max-width: 60rem; font: 1rem/1.55 system-ui, sans-serif; color: #1c2024; background: #fff }
nav { padding-bottom: .5rem; border-bottom: 1px solid #d9dee3 }
a { color: #0b5bd3 }
pre { padding: .75rem 1rem; overflow-x: auto; background: #f4f6f8; border-radius: 6px }
code { font: .875em/1.5 ui-monospace, monospace }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { padding: .35rem .6rem; border: 1px solid #d9dee3; text-align: left; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ec; background: #14171a }
  a { color: #7ab0ff }
  pre { background: #1e2328 }
  th, td, nav { border-color: #363d44 }
}
`
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

/** `title` and `body` are HTML. */
const htmlAnswer = (title: string, body: string) =>
  HttpServerResponse.text(
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - Muniment</title>
<style>${style}</style>
</head>
<body>
<nav><a href="/docs">API</a> | <a href="${handbookPath}">Handbook</a></nav>
<main>
${body}</main>
</body>
</html>
`,
    { contentType: "text/html; charset=utf-8", headers: { "content-security-policy": contentSecurityPolicy } }
  )

const index = htmlAnswer(
  "Handbook",
  `<h1>Handbook</h1>
<ul>
${handbookPages.map((page) => `<li><a href="${handbookPagePath(page)}">${page.title}</a></li>`).join("\n")}
</ul>
`
)

const repository = new URL("../../../../", import.meta.url)

const readPage = async ({ file, title }: HandbookPage) => {
  const { renderMarkdown } = await import("./MarkdownPage.ts")
  return htmlAnswer(title, renderMarkdown(await readFile(new URL(file, repository), "utf8"), file))
}

const pageRoute = (page: HandbookPage) =>
  Layer.unwrap(
    Effect.map(Effect.cached(Effect.promise(() => readPage(page))), (answer) =>
      HttpRouter.add("GET", handbookPagePath(page), answer)
    )
  )

export const handbookRoutes = Layer.mergeAll(
  HttpRouter.add("GET", handbookPath, index),
  ...handbookPages.map(pageRoute)
)
