/**
 * The dashboard, the alert rules and the list of metrics name what `/metrics` gives, and nothing else
 * (packages/server/docs/operations.md, Metrics). What only payments, a language model or a backup bring is looked up in
 * the definitions.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const read = (path: string): string => readFileSync(join(repository, path), "utf8")
const alerts = read("packages/server/monitoring/alerts.yml")
const dashboardText = read("packages/server/monitoring/dashboard.json")
const page = read("packages/server/docs/operations.md")

/** Name to whether it is a histogram. */
const definitions = new Map(
  globSync("packages/*/src/**/*.ts", { cwd: repository }).flatMap((path) =>
    [...read(path).matchAll(/Metric\.(counter|gauge|histogram)\(\s*"(\w+)"/g)].map(
      ([, type, name]) => [`muniment_${name}`, type === "histogram"] as const
    )
  )
)

const seriesOf = (name: string, isHistogram: boolean): ReadonlyArray<string> =>
  isHistogram ? ["bucket", "count", "sum"].map((part) => `${name}_${part}`) : [name]
const defined = new Set([...definitions].flatMap(([name, isHistogram]) => seriesOf(name, isHistogram)))

/** Series of metrics that an idle service without payments, model and backups does not have. */
const isConditional = (name: string) =>
  /^muniment_(?:payments?_|(?:account_)?webhook_deliveries_|llm_|backup_|scrub_|storage_|control_checked|commit_log_|charges_|credits_|admission_refused)/.test(
    name
  )

const namesIn = (text: string): ReadonlyArray<string> => [...new Set(text.match(/\bmuniment_\w+/g))]

interface Panel {
  readonly title: string
  readonly type: string
  readonly targets?: ReadonlyArray<{ readonly expr: string; readonly legendFormat: string }>
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
}
const { panels } = JSON.parse(dashboardText) as { readonly panels: ReadonlyArray<Panel> }
const targets = panels.flatMap((panel) => panel.targets ?? [])
const rules = [...alerts.matchAll(/^ +- alert: (\w+)\n +expr: (.+)\n/gm)].map(([, name, expr]) => ({ name, expr }))

const service = useSharedServer(withoutModel)
let lines: ReadonlyArray<string>

beforeAll(async () => {
  await service.call("POST", "/v1/memories", {
    body: { agentId: "a", memories: [{ kind: "factual_memory", data: { subject: "Ebba", fact: "rows on Sundays" } }] }
  })
  await service.call("GET", "/v1/memories/search?query=rows")
  lines = String((await service.call("GET", "/metrics")).body).split("\n")
})

const samples = (name: string) => lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))

describe("monitoring", () => {
  it("names metrics that the service gives", () => {
    const named = namesIn([...targets.map(({ expr }) => expr), ...rules.map(({ expr }) => expr)].join("\n"))
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((name) => !defined.has(name))).toEqual([])
    expect(named.filter((name) => samples(name).length === 0 && !isConditional(name))).toEqual([])
  })

  it("groups and filters by labels that the metrics have", () => {
    for (const { expr, legendFormat } of targets) {
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!)
      const given = namesIn(expr).flatMap(samples).join("\n")
      const grouped = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(", ")
      if (grouped !== undefined) expect(grouped, expr).toEqual(expect.arrayContaining(shown))
      if (given !== "") for (const label of shown) expect(given, expr).toContain(`${label}="`)
    }
  })

  it("gives each rule and panel an expression, and no two panels the same place", () => {
    expect(rules).toHaveLength(alerts.match(/- alert:/g)!.length)
    const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
    )
    expect(new Set(cells).size).toBe(cells.length)
    for (const { targets: own = [], title, type } of panels) expect(own.length > 0, title).toBe(type !== "row")
  })

  it("wakes for a backup that is old, and for one that was never made, of which there is no series", () => {
    const expression = (of: string) => rules.find(({ name }) => name === of)?.expr
    expect(expression("MunimentBackupOld")).toBe("muniment_backup_age_seconds > 172800")
    expect(expression("MunimentBackupMissing")).toMatch(
      /^up\{.+\} == 1 unless on \(job, instance\) muniment_backup_age_seconds$/
    )
  })

  it("counts room, queues and agents", () => {
    for (const name of ["agents", "memory_bytes", "disk_free_bytes", "disk_ballast_bytes"]) {
      expect(Number(samples(`muniment_${name}`)[0]?.split(" ").at(-1)), name).toBeGreaterThan(0)
    }
    expect(samples("muniment_ledger_changes_pending")).toHaveLength(1)
    expect(samples("muniment_embedding_texts_queued")).toHaveLength(2)
  })

  it("tells every metric in the operations page, and no other", () => {
    const [, section = ""] = /^## Metrics$([^]*?)^## /m.exec(page) ?? []
    const told = [...section.matchAll(/^- (`[^:\n]+)/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => `muniment_${name}`)
    )
    expect(told.toSorted()).toEqual([...definitions.keys()].toSorted())
  })
})
