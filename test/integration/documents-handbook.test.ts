/** The handbook as the service serves it, and what holds for all of the repository's pages. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { execFileSync } from "node:child_process"
import { Limits } from "@muniment/domain/Limits"
import { handbookPages, handbookPath, handbookPaths } from "@muniment/server/handbook/HandbookPages"
import { renderMarkdown } from "@muniment/server/handbook/MarkdownPage"
import { describe, expect, it } from "vitest"
import { floors } from "../../scripts/tidy/Floors.ts"
import { scripts } from "../support/DocumentCommands.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const read = (file: string): string => readFileSync(join(repository, file), "utf8")

describe("the served handbook", () => {
  const server = useSharedServer(withoutModel)

  const get = (path: string) => server.call("GET", path, { key: null })

  it("has an index that leads to every page, and pages that load one script of the service and nothing else", async () => {
    const index = await get(handbookPath)
    for (const path of handbookPaths) {
      const { body, headers, status } = await get(path)
      expect([path, status]).toEqual([path, 200])
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'sha256-[^']+';/
      )
      expect(body.replace('<script type="module" src="/docs/copy.js"></script>', "")).not.toMatch(
        /<script|<img|<link|<iframe|\son\w+=|style="|javascript:/i
      )
      if (path !== handbookPath) expect(index.body).toContain(`href="${path}"`)
    }
  })

  it("leads from page to page, and to anchors that are there", async () => {
    const pages = new Map<string, string>()
    for (const path of handbookPaths) pages.set(path, (await get(path)).body)
    for (const [path, body] of pages) {
      for (const [, href = ""] of body.matchAll(/href="([^"]+)"/g)) {
        if (href.startsWith("http") || href === "/docs" || href === "/console") continue
        const [target = "", anchor] = href.split("#")
        const page = pages.get(target === "" ? path : target)
        expect([path, href, page !== undefined]).toEqual([path, href, true])
        if (anchor !== undefined) expect([path, href, page?.includes(`id="${anchor}"`)]).toEqual([path, href, true])
      }
    }
  })

  it("is searched for sections that have all words, by a form without a script", async () => {
    expect((await get("/docs")).body).toContain('action="docs/handbook"')
    const { body } = await get(`${handbookPath}?q=${encodeURIComponent("backup passphrase bucket")}`)
    const [, link = ""] = /<li><a href="([^"]+)"/.exec(body) ?? []
    const [path = "", anchor = ""] = link.split("#")
    expect(path).toBe(`${handbookPath}/operations`)
    expect((await get(path)).body).toContain(`id="${anchor}"`)
    expect((await get(`${handbookPath}?q=backup+qwertyuiop`)).body).toContain("Nothing in the handbook")
    const hostile = encodeURIComponent(`"><script>alert(1)</script>`)
    expect((await get(`${handbookPath}?q=${hostile}`)).body).not.toContain("<script>")
    expect((await get(`${handbookPath}?q=`)).body).toContain("<h1>Handbook</h1>")
  })

  it("has no page of another name, and takes GET alone", async () => {
    expect((await get(`${handbookPath}/nothing`)).status).toBe(404)
    expect((await get(`${handbookPath}/..%2f..%2fpackage.json`)).status).toBe(404)
    expect((await server.call("POST", handbookPaths[1]!, { key: null })).status).toBe(405)
  })

  it("is listed in llms.txt", async () => {
    const { body } = await get("/llms.txt")
    for (const path of handbookPaths.slice(1)) expect(body).toContain(`(${path})`)
  })
})

describe("Markdown", () => {
  const render = (markdown: string) => renderMarkdown(markdown, "packages/server/docs/trust.md")

  it("that holds HTML shows it as text", () => {
    const rendered = render("<script>alert(1)</script>\n\na <b onclick='x'>b</b> `<i>` ![<u>](http://x/y.png)\n")
    expect(rendered).not.toMatch(/<(?:script|b|i|u|img)\b/)
    expect(rendered).toContain("&lt;script&gt;alert(1)&lt;/script&gt;")
  })

  it("links to the web and to pages of the handbook; other targets become text, files with their path", () => {
    expect(render("[a](money.md#taking-payments)")).toContain('href="/docs/handbook/money#taking-payments"')
    expect(render("[a](../../domain/README.md)")).toContain('href="/docs/handbook/contract"')
    expect(render("[a](https://example.org/?a=1&b=2)")).toContain('href="https://example.org/?a=1&amp;b=2"')
    for (const target of ["javascript:alert(1)", "../../../../outside", "//example.org", "data:text/html,x"]) {
      expect(render(`[shown](${target})`)).toBe("<p>shown</p>\n")
    }
    expect(render("[shown](../../../package.json)")).toBe("<p>shown (<code>package.json</code>)</p>\n")
    expect(render("[`http/App.ts`](../src/http/App.ts)")).toBe("<p><code>http/App.ts</code></p>\n")
  })
})

/** Pages for readers; reports of benches are written by programs. */
const pages = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], {
  cwd: repository,
  encoding: "utf8"
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(repository, file)) && !file.startsWith("bench/results/"))

describe("the pages of the repository", () => {
  it("begin with a README of one page", () => {
    const readme = read("README.md")
    expect(readme.split("\n").length).toBeLessThanOrEqual(150)
    expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(10_000)
    for (const { file } of handbookPages.filter(({ name }) => name !== "walks" && name !== "format"))
      expect(readme).toContain(`](${file})`)
  })

  it.each(pages)("link to files and headings that are there: %s", (file) => {
    const text = read(file).replace(/^```[\s\S]*?^```$/gm, "")
    for (const [link, href = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:https?|mailto):/.test(href)) continue
      const [path = "", anchor] = href.split("#")
      const target = path === "" ? file : join(dirname(file), path)
      expect([link, existsSync(join(repository, target))]).toEqual([link, true])
      if (anchor === undefined) continue
      expect([link, headingsOf(read(target)).includes(anchor)]).toEqual([link, true])
    }
  })

  it.each(pages)("name files and folders that are there: %s", (file) => {
    const named = read(file).matchAll(/`((?:packages|test|scripts|bench)\/[\w./-]*\w\/?)`/g)
    const missing = Array.from(named, ([, path = ""]) => path).filter((path) => !isThere(path))
    expect(missing).toEqual([])
  })

  it.each(pages)("name npm scripts that exist: %s", (file) => {
    for (const [, name = ""] of read(file).matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)) {
      expect(Object.keys(scripts)).toContain(name)
    }
  })

  it("draw every package on its floor", () => {
    const [, picture = ""] = /^## 2\. Floors$[^]*?^```text\n([^]*?)^```$/m.exec(read(".github/ARCHITECTURE.md")) ?? []
    let floor = ""
    const drawn = picture.split("\n").flatMap((line) => {
      const { 1: number, 2: name } = /^(\d)? +([a-z]+) {2,}/.exec(line) ?? []
      floor = number ?? floor
      return name === undefined ? [] : [[name, Number(floor)] as const]
    })
    expect(Object.fromEntries(drawn)).toEqual(floors)
  })

  it("have every environment variable with its meaning, as packages/server/src/Config.ts and the commands name them", () => {
    const sources = ["packages/server/src/Config.ts", "packages/cli/src/commands/mcp.ts"]
    const known = sources.flatMap((file) =>
      Array.from(read(file).matchAll(/"(MUNIMENT_[A-Z0-9_]+)"/g), ([, name]) => name!)
    )
    const listed = Array.from(
      read("packages/server/docs/configuration.md").matchAll(/^- (`MUNIMENT_[^(]*) \(/gm),
      ([, cell]) => cell!.match(/MUNIMENT_\w+/g)!
    ).flat()
    const missing = known.filter((name) => !listed.includes(name))
    const unknown = listed.filter((name) => !known.includes(name))
    expect({ missing, unknown }, "entries of packages/server/docs/configuration.md").toEqual({
      missing: [],
      unknown: []
    })
  })

  it.each(["operations", "money", "security"])("say the value of every limit that an operator meets: %s.md", (name) => {
    const text = read(`packages/server/docs/${name}.md`)
    const shown = Array.from(
      text.matchAll(/([\d,]+)(?: (ms|s|KiB|MiB))? \(`Limits\.(\w+)`/g),
      ([, number = "", unit = "", limit = ""]) => [limit, Number(number.replaceAll(",", "")) * units[unit]!]
    )
    const named = Array.from(text.matchAll(/`Limits\.(\w+)`/g), ([, limit = ""]) => limit)
    expect(shown, "each as: 60 s (`Limits.expirySweepMillis`)").toEqual(
      named.map((limit) => [limit, Limits[limit as keyof typeof Limits]])
    )
  })
})

/** Of the values of limits: milliseconds, bytes, counts. */
const units: Readonly<Record<string, number>> = { "": 1, ms: 1, s: 1_000, KiB: 1_024, MiB: 1_048_576 }

/** A test is also named without its ending. */
const isThere = (path: string): boolean =>
  ["", ".test.ts", ".ts"].some((ending) => existsSync(join(repository, `${path}${ending}`)))

const headingsOf = (markdown: string): ReadonlyArray<string> =>
  Array.from(markdown.matchAll(/^#+ (.+)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-")
  )
