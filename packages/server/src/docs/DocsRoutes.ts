/**
 * The page at `/docs`: the contract for people, with forms that call the service. It shows `/openapi.json` as the
 * service serves it. Its scripts run in the browser as they are.
 *
 * Invariant: the page loads nothing from another origin and calls none; `contentSecurityPolicy` holds browsers to it.
 */
import { readFileSync } from "node:fs"
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { handbookPath, handbookPagePath, handbookPages } from "../handbook/HandbookPages.ts"
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

/** `/llms.txt`: what an agent needs to know to use the service, in one short page. */
export const llmsText = `# Muniment

> Long-term memory for software agents: typed memories, stored durably, searched by meaning and by filters.

All calls go below /v1 and carry the header "Authorization: Bearer <API key>". Bodies are JSON.
Successful answers have "success": true; failures have "success": false, "error" (text) and "code".

## Store

POST /v1/memories
{"agentId": "assistant", "memories": [{"kind": "factual_memory", "data": {"subject": "Alice", "fact": "Alice lives in Seattle"}}]}

Kinds without registration: factual_memory {subject, fact}, preference_memory {subject, preferenceType:
likes|dislikes|prefers|avoids|wants|needs, preference}, temporal_event {event, eventDate}, instruction_memory {text}
(what the user wants of you from now on). Others: POST /v1/schemas
{"name", "description", "schema" (a JSON Schema as a string), "uniqueOn" (optional)}; a new memory supersedes the
older one with the same uniqueOn values. "subjectId" keeps the memories of different users apart. "ttl": "7d" or
"expiresAt" (milliseconds) lets a memory expire, "tags": ["travel"] sorts it. Send an Idempotency-Key header with writes that you may repeat.

Or let the service read a conversation: {"agentId", "subjectId", "threadId", "conversation": [{"id", "role": "user" |
"assistant" | "system" | "tool", "content"}], "conversationDate": "YYYY-MM-DD",
"timeZone" (IANA, of times without an offset), "instructions" (what a language model is to look for and to leave
out)}. Messages are taken as model APIs have
them: parts, tool calls and results, "content": null. Send the whole window each time: messages that
were processed are skipped. "rejected" lists what was found and not stored, with the reason.

## Before you answer

POST /v1/context {"agentId", "subjectId", "query": the user's message, or "messages": the last turns}
gives "text" for your prompt, within "maxTokens" (1,500): who the user is, standing instructions to follow, what changed,
what is planned, and what was said that bears on the message. GET /v1/subjects/{id}/profile: what is known, by topic.

## Find

GET /v1/memories/search?query=where+does+Alice+live&agentId=assistant
Filters: agentId, subjectId, threadId, kind, tags (comma-separated, any), data (JSON: values of fields),
eventDateFrom, eventDateTo,
includeSuperseded, minRelevance (0..1), limit (1..100). "timeZone" (IANA) and "now" (ISO date-time) say what
"yesterday" in a query means. The answer has "memories", best first, each
with quality.relevance (0..1).
mode=answer quotes what answers, with citations ("grounded": false when nothing is known: see "hits"); mode=map gives topics.
POST /v1/memories/search takes the same as a JSON body, for long queries. POST /v1/memories/batch/search takes up to 10.

## Change and remove

GET, PATCH {"tags", "expiresAt"} and DELETE /v1/memories/{id}; POST /v1/memories/batch/update and
/v1/memories/batch/delete for many ("dryRun": true only counts). To forget a memory with its older versions, give
versions=all; otherwise "revived" names the one that is the latest again. GET /v1/memories lists in pages.

## As tools

The same as Model Context Protocol, streamable HTTP with the same credentials: /mcp. Tools: memory_context, memory_search,
memory_create, memory_get, memory_update, memory_delete, memory_batch_delete, and write_<kind> for every kind.

## More

MCP endpoint (streamable HTTP): /mcp. OpenAPI document: /openapi.json. Page for people: /docs. Who am I: GET /v1/account.
Pages:
${handbookPages.map((page) => `- [${page.title}](${handbookPagePath(page)})`).join("\n")}
`
