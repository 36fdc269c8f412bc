/**
 * Precision of each family of rules, of extraction and of answers, on a folder of cases: conversations with questions and
 * with facts that a memory must hold or must never hold. Sends them to a real server as an agent would. `--help` names the
 * options.
 */
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { partAsked } from "@muniment/insight/answers/AnswerPart"
import { answerHelp } from "../Usage.ts"
import { openService, type Service, type ServiceAnswer } from "./Service.ts"

const usage = `node bench/answers/cases.ts --data DIR [--verdicts FILE] [--unread] [--write] [--url URL --key KEY]

  --data      folder of cases, one JSON file each: {id, user, asked, timeZone, messages, questions, facts}
  --verdicts  what a reader found of extracted memories: a JSON object, text to true or false
  --unread    prints the memories that neither a fact of the cases nor a reader judges
  --write     writes the tables into packages/insight/README.md
  --url       a running service instead of one started here; needs --key
  --key       the key to call it with`

interface Case {
  readonly id: string
  readonly user: string | null
  readonly asked: string
  readonly timeZone: string
  readonly messages: ReadonlyArray<Readonly<Record<"id" | "role" | "name" | "sentAt" | "content", string>>>
  readonly questions: ReadonlyArray<CaseQuestion>
  readonly facts: ReadonlyArray<{
    readonly about: string
    readonly says: ReadonlyArray<string>
    readonly true: boolean
  }>
}

interface CaseQuestion {
  readonly q: string
  readonly type: string
  /** Regular expressions. */
  readonly answer: ReadonlyArray<string>
  readonly wrong?: ReadonlyArray<string>
}

interface Extracted {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: { readonly tags?: ReadonlyArray<string> }
}

interface Counts {
  right: number
  wrong: number
  open: number
}

const windowMessages = 10
const windowStep = 2

const send = async (service: Service, agentId: string, { messages }: Case): Promise<void> => {
  for (let end = windowStep; end < messages.length + windowStep; end += windowStep) {
    const to = Math.min(end, messages.length)
    const conversation = messages.slice(Math.max(0, to - windowMessages), to)
    await service.call("/v1/memories", {
      agentId,
      subjectId: "s",
      threadId: "t",
      conversation,
      wait: ["vectors", "extraction"]
    })
  }
}

const extractedBy = async (service: Service, agentId: string): Promise<ReadonlyArray<Extracted>> => {
  const found: Array<Extracted> = []
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const parameters = new URLSearchParams({ agentId, limit: "100", include: "extracted", ...(cursor && { cursor }) })
    const page: { readonly memories: ReadonlyArray<Extracted>; readonly nextCursor?: string } = await service.call(
      `/v1/memories?${parameters}`
    )
    found.push(...page.memories)
    cursor = page.memories.length === 0 ? undefined : page.nextCursor
  }
  return found
}

const matches = (patterns: ReadonlyArray<string>, text: string): boolean =>
  patterns.some((pattern) => new RegExp(pattern, "is").test(text))

const lastMatch = (patterns: ReadonlyArray<string>, text: string): number =>
  Math.max(
    -1,
    ...patterns.flatMap((pattern) =>
      [...text.matchAll(new RegExp(pattern, "gis"))].map((one) => one.index + one[0].length)
    )
  )

/** Of a value that changed the right one comes last; a yes or no that is said counts alone. */
const isRight = ({ answer, type, wrong = [] }: CaseQuestion, text: string): boolean => {
  const said = type === "yesno" ? /(?:^|["”]\s+)(yes|no)\b/i.exec(text)?.[1] : undefined
  if (said !== undefined) return matches(answer, said)
  if (!matches(answer, text)) return false
  return !/^(?:current|past|number)$/.test(type) || lastMatch(wrong, text) <= lastMatch(answer, text)
}

const textOf = ({ data }: Extracted): string => JSON.stringify(data)

/** By the facts of its case; undefined: none speaks of it. */
const judgedBy = ({ facts, user }: Case, memory: Extracted): boolean | undefined => {
  const text = textOf(memory)
  const spoken = facts.filter(({ about, says }) => {
    const name = about.split(" ")[0] ?? ""
    const isAbout = text.toLowerCase().includes(name.toLowerCase())
    const isUsers = user?.split(" ")[0] === name && /\buser\b/i.test(text)
    return (isAbout || isUsers) && says.every((pattern) => new RegExp(pattern, "i").test(text))
  })
  return spoken.length === 0 ? undefined : spoken.every((fact) => fact.true)
}

const familyOf = ({ context, data, kind }: Extracted): string => {
  if (kind === "preference_memory") return String(data["preferenceType"])
  if (kind === "temporal_event") return "dated events"
  return context.tags?.[0] ?? "other facts"
}

const counted = (table: Map<string, Counts>, family: string, isTrue: boolean | undefined): void => {
  const counts = table.get(family) ?? { right: 0, wrong: 0, open: 0 }
  counts[isTrue === undefined ? "open" : isTrue ? "right" : "wrong"]++
  table.set(family, counts)
}

const tableOf = (heads: readonly [string, string, string, string], table: ReadonlyMap<string, Counts>): string => {
  const rows = [...table].toSorted(([, one], [, other]) => other.right + other.wrong - one.right - one.wrong)
  const lines = rows.map(([family, { open, right, wrong }]) => {
    const precision = right + wrong === 0 ? "-" : (right / (right + wrong)).toFixed(2)
    return `| ${family} | ${right} | ${wrong} | ${open} | ${precision} |`
  })
  return [`| ${heads.join(" | ")} | precision |`, "|---|---|---|---|---|", ...lines].join("\n")
}

const readme = new URL("../../packages/insight/README.md", import.meta.url)
const block = /(<!-- families -->\n)[\s\S]*?(<!-- \/families -->)/

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      verdicts: { type: "string" },
      unread: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      url: { type: "string" },
      key: { type: "string" }
    }
  })
  if (values.data === undefined) throw new Error(`usage: ${usage}`)
  const folder = values.data
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"))
  const cases = files.toSorted().map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Case)
  const verdicts: Readonly<Record<string, boolean>> =
    values.verdicts === undefined ? {} : JSON.parse(readFileSync(values.verdicts, "utf8"))
  const [extracted, answered] = [new Map<string, Counts>(), new Map<string, Counts>()]
  const service = await openService(values.url, values.key)
  try {
    for (const one of cases) {
      const agentId = `${one.id}-${randomUUID().slice(0, 8)}`
      await send(service, agentId, one)
      for (const memory of await extractedBy(service, agentId)) {
        const text = textOf(memory)
        const isTrue = verdicts[text] ?? judgedBy(one, memory)
        if (values.unread && isTrue === undefined) console.log(one.id, text)
        counted(extracted, familyOf(memory), isTrue)
      }
      for (const question of one.questions) {
        const common = { query: question.q, now: one.asked, timeZone: one.timeZone, agentId, subjectId: "s" }
        const parameters = new URLSearchParams({ ...common, mode: "answer" })
        const { answer, grounded } = await service.call<ServiceAnswer>(`/v1/memories/search?${parameters}`)
        counted(answered, partAsked(question.q.toLowerCase()), grounded ? isRight(question, answer) : undefined)
      }
    }
  } finally {
    await service.stop()
  }
  const tables = [
    tableOf(["extracted", "true", "false", "not judged"], extracted),
    tableOf(["answers, by what is asked for", "right", "wrong", "withheld"], answered)
  ].join("\n\n")
  console.log(tables)
  if (values.write) {
    const text = readFileSync(readme, "utf8")
    writeFileSync(
      readme,
      text.replace(block, (_, open: string, end: string) => `${open}\n${tables}\n\n${end}`)
    )
  }
}

await main()
