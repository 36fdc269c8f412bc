/**
 * The handbook at `/docs/handbook`: an index and its pages, without credentials. A page is read and rendered at its
 * first request and kept: later requests cost no time of the event loop, and a start loads no Markdown.
 *
 * Invariant: a page loads nothing but the script of this service that gives blocks of code a button to copy them, and
 * can be read without it; `contentSecurityPolicy` holds browsers to it.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Limits } from "@muniment/domain/Limits"
import { escapeHtml, type HandbookPage, handbookPagePath, handbookPages, handbookPath } from "./HandbookPages.ts"
import { consolePath } from "../paths.ts"
import type { HandbookMatch } from "./MarkdownPage.ts"

const style = `
body { overflow-wrap: anywhere; margin: 0 auto; padding: 1rem 1.25rem 4rem; max-width: 60rem; font: 1rem/1.55 system-ui, sans-serif; color: #1c2024; background: #fff }
nav, nav form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center }
nav form { margin-left: auto }
input, button { font: inherit; padding: .25rem .6rem }
nav { padding-bottom: .5rem; border-bottom: 1px solid #d9dee3 }
a { color: #0b5bd3 }
pre { padding: .75rem 1rem; overflow-x: auto; background: #f4f6f8; border-radius: 6px }
code { font: .875em/1.5 ui-monospace, monospace }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { padding: .35rem .6rem; border: 1px solid #d9dee3; text-align: left; vertical-align: top }
aside { float: right; max-width: 18rem; margin: 0 0 1rem 1.5rem; padding: .5rem 1rem; border: 1px solid #d9dee3; border-radius: 6px; font-size: .875em }
aside summary { cursor: pointer }
aside ul { margin: .25rem 0; padding-left: 1rem }
aside a { display: inline-block; min-height: 1.6rem }
.code { position: relative }
.copy { position: absolute; top: .25rem; right: .25rem; font-size: .8rem }
@media (max-width: 40rem) { aside { float: none; max-width: none; margin: 0 } }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ec; background: #14171a }
  a { color: #7ab0ff }
  pre { background: #1e2328 }
  th, td, nav, aside { border-color: #363d44 }
}
`
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'"
].join("; ")

/** `title` and `body` are HTML; `question` stands in the search field. */
type HtmlAnswer = (title: string, body: string, question?: string) => HttpServerResponse.HttpServerResponse

const htmlAnswers =
  (hasConsole: boolean): HtmlAnswer =>
  (title, body, question = "") =>
    HttpServerResponse.text(
      `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - Muniment</title>
<style>${style}</style>
<script type="module" src="/docs/copy.js"></script>
</head>
<body>
<nav><a href="/docs">API</a> <a href="${handbookPath}">Handbook</a>${hasConsole ? ` <a href="${consolePath}">Console</a>` : ""}
<form role="search" action="${handbookPath}"><input type="search" name="q" aria-label="Search the handbook" value="${escapeHtml(question)}"><button>Search</button></form></nav>
<main class="handbook">
${body}</main>
</body>
</html>
`,
      { contentType: "text/html; charset=utf-8", headers: { "content-security-policy": contentSecurityPolicy } }
    )

const indexOf = (html: HtmlAnswer) =>
  html(
    "Handbook",
    `<h1>Handbook</h1>
<ul>
${handbookPages.map((page) => `<li><a href="${handbookPagePath(page)}">${page.title}</a></li>`).join("\n")}
</ul>
`
  )

const repository = new URL("../../../../", import.meta.url)

const readText = ({ file }: HandbookPage): Promise<string> => readFile(new URL(file, repository), "utf8")

const readPage = async (html: HtmlAnswer, page: HandbookPage) => {
  const { contentsOf, renderMarkdown } = await import("./MarkdownPage.ts")
  const text = await readText(page)
  return html(page.title, contentsOf(text) + renderMarkdown(text, page.file))
}

/** All sections of all pages, for the search. */
const readSections = async () => {
  const { sectionsOf } = await import("./MarkdownPage.ts")
  const pages = await Promise.all(handbookPages.map(async (page) => sectionsOf(page, await readText(page))))
  return pages.flat()
}

const indexRoute = (html: HtmlAnswer, index = indexOf(html)) =>
  Layer.unwrap(
    Effect.map(Effect.cached(Effect.promise(readSections)), (sections) =>
      HttpRouter.add(
        "GET",
        handbookPath,
        Effect.gen(function* () {
          const { url } = yield* HttpServerRequest.HttpServerRequest
          const question = new URLSearchParams(url.split("?")[1] ?? "")
            .get("q")
            ?.slice(0, Limits.handbookQuestionLengthMax)
          if (question === undefined || question.trim() === "") return index
          const { searchSections } = yield* Effect.promise(() => import("./MarkdownPage.ts"))
          return matchesAnswer(html, question, searchSections(yield* sections, question))
        })
      )
    )
  )

const matchesAnswer = (html: HtmlAnswer, question: string, matches: ReadonlyArray<HandbookMatch>) =>
  html(
    "Search",
    `<h1>Search</h1>
<p>${matches.length === 0 ? "Nothing in the handbook has all of these words." : `${matches.length} sections`}</p>
<ol>
${matches
  .map(
    ({ excerpt, heading, link, page }) =>
      `<li><a href="${escapeHtml(link)}">${escapeHtml(heading)}</a> (${escapeHtml(page)})<br>${escapeHtml(excerpt)}</li>`
  )
  .join("\n")}
</ol>
`,
    question
  )

const pageRoute = (html: HtmlAnswer, page: HandbookPage) =>
  Layer.unwrap(
    Effect.map(Effect.cached(Effect.promise(() => readPage(html, page))), (answer) =>
      HttpRouter.add("GET", handbookPagePath(page), answer)
    )
  )

export const handbookRoutes = (hasConsole: boolean) => {
  const html = htmlAnswers(hasConsole)
  return Layer.mergeAll(indexRoute(html), ...handbookPages.map((page) => pageRoute(html, page)))
}
