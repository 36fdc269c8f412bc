/**
 * Rows as memories, by what each column is: tried first, then stored. The service takes all of a request or nothing; a
 * refused row is found by halves, so that it keeps no other one out.
 */
import type { ApiError } from "./api.ts"
import { type NewMemory, requestsOf, storeRequest, tagsIn } from "./bulk.ts"
import { patiently } from "./exporting.ts"
import { type Tried, tryData } from "./knowledge.ts"
import { asApiError } from "./load.ts"
import { account } from "./route.ts"
import type { Row } from "./rows.ts"
import { type DataField, valueOf } from "./schemaFields.ts"

/** What a column is: a place, a part of the memory beside its data, all of its data, or a field of them (`data.city`). */
export type Meaning =
  | "agentId"
  | "subjectId"
  | "threadId"
  | "kind"
  | "tags"
  | "metadata"
  | "expiresAt"
  | "data"
  | ""
  | `data.${string}`

const meanings: ReadonlyArray<readonly [Meaning, RegExp]> = [
  ["agentId", /^agent(?:_?id)?$/i],
  ["subjectId", /^(?:subject|user)_?id$/i],
  ["threadId", /^(?:thread|conversation|session)(?:_?id)?$/i],
  ["kind", /^kind$/i],
  ["tags", /^tags$/i],
  ["metadata", /^metadata$/i],
  ["expiresAt", /^expires(?:_?at)?$/i],
  ["data", /^data$/i]
]

/** What the service gives to memories itself. */
const own = /^(?:id|createdAt|updatedAt|contentHash|confidence|mentions|origin|sources|when|revision|position)$/

const text = /^(?:text|content|message|memory)$/i

/** What a column is by its name, unless it is told. */
export const meaningOf = (
  column: string,
  columns: ReadonlyArray<string>,
  fields: ReadonlyArray<DataField>
): Meaning => {
  const field = fields.find(({ name }) => name.toLowerCase() === column.toLowerCase())
  if (field !== undefined) return `data.${field.name}`
  const known = meanings.find(([, pattern]) => pattern.test(column))?.[0]
  if (known !== undefined) return known
  if (columns.some((other) => /^data$/i.test(other)) && own.test(column)) return ""
  const isFact = fields.some(({ name }) => name === "fact") && !columns.includes("fact")
  return isFact && text.test(column) ? "data.fact" : `data.${column}`
}

export interface Plan {
  readonly meanings: ReadonlyMap<string, Meaning>
  /** Of rows that name none. */
  readonly place: {
    readonly agentId: string
    readonly subjectId: string
    readonly threadId: string
    readonly kind: string
  }
  /** In the data of each row that has not these fields. */
  readonly fixed: Readonly<Record<string, unknown>>
  readonly fields: ReadonlyArray<DataField>
}

const asObject = (value: unknown): object => (typeof value === "object" && value !== null ? value : {})

export const memoryOf = ({ fields: cells }: Row, plan: Plan): NewMemory => {
  const given: Record<string, unknown> = {}
  const data: Record<string, unknown> = { ...plan.fixed }
  for (const [column, meaning] of plan.meanings) {
    const cell = cells[column]
    if (meaning === "" || cell === undefined || cell === null || cell === "") continue
    if (meaning === "data") Object.assign(data, asObject(valueIn("json", cell)))
    else if (meaning.startsWith("data.")) {
      const name = meaning.slice("data.".length)
      data[name] = valueIn(plan.fields.find((field) => field.name === name)?.type ?? "text", cell)
    } else given[meaning] = cell
  }
  const named = (name: keyof Plan["place"]): string => String(given[name] ?? plan.place[name]).trim()
  const { expiresAt, metadata, tags } = given
  const [subjectId, threadId] = [named("subjectId"), named("threadId")]
  return {
    agentId: named("agentId"),
    ...(subjectId !== "" && { subjectId }),
    ...(threadId !== "" && { threadId }),
    memory: {
      kind: named("kind"),
      data,
      ...(tags !== undefined && { tags: Array.isArray(tags) ? tags.map(String) : tagsOfCell(String(tags)) }),
      ...(metadata !== undefined && { metadata: valueIn("json", metadata) }),
      ...(expiresAt !== undefined && { expiresAt: momentOf(expiresAt) })
    }
  }
}

/** By commas; in a table of commas people write semicolons or bars. */
const tagsOfCell = (cell: string): ReadonlyArray<string> =>
  tagsIn(cell.includes(",") ? cell : cell.replaceAll(/[;|]/g, ","))

const valueIn = (type: DataField["type"], cell: unknown): unknown =>
  typeof cell === "string" ? valueOf({ type }, cell) : cell

/** Milliseconds, as a number or in digits; else as it is given. */
const momentOf = (given: unknown): number | string =>
  typeof given === "number" ? given : /^\d+$/.test(String(given)) ? Number(given) : String(given)

export interface Outcome {
  readonly number: number
  readonly item: NewMemory
  readonly result: "would be stored" | "stored" | "replaced an older version" | "was there already" | "refused"
  readonly reason: string
  /** Of the memory that was stored for it. */
  readonly id?: string
}

export interface Numbered {
  readonly number: number
  readonly item: NewMemory
}

/** How many rows are done, and in how many seconds the service takes the next call; undefined: it goes on. */
type Tell = (done: number, waits: number | undefined) => void

/** What each row would become; stores nothing. */
export const dryRun = async (
  rows: ReadonlyArray<Numbered>,
  signal: AbortSignal,
  tell: Tell
): Promise<ReadonlyArray<Outcome>> => {
  const of = account.value
  const outcomes: Array<Outcome> = []
  const attempt = (body: object) =>
    patiently(
      () => tryData(body, { signal, account: of }),
      (waits) => tell(outcomes.length, waits),
      signal
    )
  for (const { item, number } of rows) {
    signal.throwIfAborted()
    const reason = await faultOf(item, attempt)
    outcomes.push({ number, item, reason, result: reason === "" ? "would be stored" : "refused" })
    tell(outcomes.length, undefined)
  }
  return outcomes
}

const faultOf = async (
  { agentId, memory: { data, kind } }: NewMemory,
  attempt: (body: object) => Promise<Tried>
): Promise<string> => {
  if (agentId === "") return "No agent is named."
  if (kind === "") return "No kind is named."
  try {
    const { problems, valid } = await attempt({ kind, data })
    return valid ? "" : problems.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`)).join("; ")
  } catch (cause) {
    const error = asApiError(cause)
    if (error.status !== 400 && error.status !== 404) throw cause
    return reasonOf(error)
  }
}

const reasonOf = ({ details, message }: ApiError): string => [message, ...details].join(" ")

/** Stores the rows; ends with what became of each, also of those before a failure that no other row would escape. */
export const importAll = async (
  rows: ReadonlyArray<Numbered>,
  onDuplicate: "return" | "store",
  signal: AbortSignal,
  tell: Tell
): Promise<{
  readonly outcomes: ReadonlyArray<Outcome>
  readonly ids: ReadonlyArray<string>
  readonly error: ApiError | undefined
}> => {
  const of = account.value
  const numbers = new Map(rows.map(({ item, number }) => [item, number]))
  const outcomes: Array<Outcome> = []
  const ids: Array<string> = []
  const numbered = (item: NewMemory) => ({ number: numbers.get(item) ?? 0, item })
  const send = async (part: ReadonlyArray<NewMemory>): Promise<void> => {
    signal.throwIfAborted()
    try {
      // Once sent it is not given up: its ids are needed to take it back.
      const answer = await patiently(
        () => storeRequest(part, { onDuplicate }, of),
        (waits) => tell(outcomes.length, waits),
        signal
      )
      const created = [...answer.created]
      const updated = [...answer.updated]
      ids.push(...[...created, ...updated].map(({ id }) => id))
      for (const item of part) {
        const fresh = taken(created, item)
        const newer = fresh === undefined ? taken(updated, item) : undefined
        const id = fresh ?? newer
        const result =
          fresh !== undefined ? "stored" : newer !== undefined ? "replaced an older version" : "was there already"
        outcomes.push({ ...numbered(item), result, reason: "", ...(id !== undefined && { id }) })
      }
    } catch (cause) {
      const error = asApiError(cause)
      if (![400, 404, 409, 413].includes(error.status)) throw cause
      // One row refuses all of a request: halves find it.
      const [first] = part
      if (first !== undefined && part.length === 1)
        outcomes.push({ ...numbered(first), result: "refused", reason: reasonOf(error) })
      else {
        const half = Math.ceil(part.length / 2)
        await send(part.slice(0, half))
        await send(part.slice(half))
      }
    }
    tell(outcomes.length, undefined)
  }
  let error: ApiError | undefined
  try {
    for (const part of requestsOf(rows.map(({ item }) => item))) await send(part)
  } catch (cause) {
    error = asApiError(cause)
  }
  return { outcomes: outcomes.toSorted((one, other) => one.number - other.number), ids, error }
}

interface StoredEntry {
  readonly id: string
  readonly kind: string
  readonly data: object
}

/**
 * Takes the next entry if it is this row, and gives its id: they come in the order of the request, with defaults of the
 * schema filled in.
 */
const taken = (entries: Array<StoredEntry>, { memory }: NewMemory): string | undefined => {
  const [next] = entries
  const isIt =
    next?.kind === memory.kind &&
    Object.entries(asObject(memory.data)).every(
      ([name, value]) => JSON.stringify(Reflect.get(next.data, name)) === JSON.stringify(value)
    )
  if (!isIt) return undefined
  entries.shift()
  return next.id
}
