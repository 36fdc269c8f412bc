/** Memories of a file or a pasted text: read, each column given a meaning, tried, stored, with the result of each row. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { ApiError } from "../service/api.ts"
import { save } from "../service/browser.ts"
import {
  dryRun,
  importAll,
  type Meaning,
  meaningOf,
  memoryOf,
  type Numbered,
  type Outcome
} from "../service/importing.ts"
import { type Schema, usualKind } from "../service/knowledge.ts"
import { asApiError } from "../service/load.ts"
import { account, linkTo, parameters } from "../service/route.ts"
import { type Row, type Rows, rowsIn } from "../service/rows.ts"
import { type DataField, fieldsOf, jsonObject } from "../service/schemaFields.ts"
import { bytes, duration } from "../service/text.ts"
import { offerRemoval } from "../service/undo.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { Check, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Notice, Refused } from "../ui/Notice.tsx"
import { type Column, GrowingTable, Table } from "../ui/Table.tsx"
import { UserText } from "../ui/UserText.tsx"

const rowsMax = 10_000
const fileBytesMax = 20 * 1024 * 1024

export const ImportRows = ({ kinds }: { readonly kinds: ReadonlyArray<Schema> }) => {
  const [text, setText] = useState("")
  const [read, setRead] = useState<Rows | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const take = (given: string): void => {
    setRead(undefined)
    showError(undefined)
    setRead(rowsIn(given))
  }
  const open = (file: File | undefined): void => {
    if (file === undefined) return
    if (file.size > fileBytesMax) {
      setRead(undefined)
      const error = `The file has ${bytes(file.size)}, at most ${bytes(fileBytesMax)} are read at once. Divide it.`
      showError(new ApiError(413, { error, code: "file_too_large" }))
    } else file.text().then(take, (cause: unknown) => showError(asApiError(cause)))
  }
  const tooMany = read !== undefined && read.rows.length > rowsMax
  return (
    <>
      <section class="card stack" aria-label="Source">
        <p class="muted">
          Lines of JSON, an array of JSON, or a table of CSV whose first line names its columns. Nothing is stored
          before you have seen what would be.
        </p>
        <label>
          <span>File</span>
          <input
            type="file"
            accept=".json,.jsonl,.ndjson,.csv,.tsv,.txt"
            onChange={({ currentTarget }) => {
              open(currentTarget.files?.[0])
              // Else the same file, chosen again once it is mended, is no change.
              currentTarget.value = ""
            }}
          />
        </label>
        <label>
          <span>Or its text, pasted</span>
          <textarea
            rows={5}
            value={text}
            placeholder={'{"subject": "Alice", "fact": "Alice lives in Seattle"}'}
            onInput={({ currentTarget: { value } }) => setText(value)}
          />
        </label>
        {error !== undefined && <Refused error={error} />}
        <div class="actions">
          <button type="button" disabled={text.trim() === ""} onClick={() => take(text)}>
            Read the text
          </button>
        </div>
      </section>
      {read !== undefined && read.rows.length === 0 && read.faults.length === 0 && (
        <Notice tone="warn">It has no row.</Notice>
      )}
      {read !== undefined && <Faults faults={read.faults} />}
      {tooMany && (
        <Notice tone="warn">
          It has {count(read.rows.length)} rows; at most {count(rowsMax)} are taken at once. Divide it.
        </Notice>
      )}
      {read !== undefined && read.rows.length > 0 && !tooMany && <Mapped read={read} kinds={kinds} />}
    </>
  )
}

const Faults = ({ faults }: Pick<Rows, "faults">) =>
  faults.length === 0 ? null : (
    <Notice tone="warn">
      {count(faults.length)} {faults.length === 1 ? "row is" : "rows are"} left out:{" "}
      {faults
        .slice(0, 5)
        .map(({ fault, number }) => `row ${number}: ${fault}`)
        .join(" ")}
    </Notice>
  )

const Mapped = ({ kinds, read }: { readonly read: Rows; readonly kinds: ReadonlyArray<Schema> }) => {
  const [agentId, setAgent] = useState(parameters.value.get("agentId") ?? "")
  const [subjectId, setSubject] = useState("")
  const [threadId, setThread] = useState("")
  const [kind, setKind] = useState<string>(usualKind)
  const [fixed, setFixed] = useState("")
  const [told, setTold] = useState<ReadonlyMap<string, Meaning>>(new Map())
  const fields = fieldsOf(kinds.find(({ name }) => name === kind)?.schema ?? "")
  const meanings = new Map(
    read.columns.map((column) => [column, told.get(column) ?? meaningOf(column, read.columns, fields)])
  )
  const plan = JSON.stringify([agentId, subjectId, threadId, kind, fixed, [...meanings]])
  const { items, error } = useMemo(() => {
    try {
      const place = { agentId, subjectId, threadId, kind }
      const whole = { meanings, place, fixed: jsonObject(fixed, "What all rows have"), fields }
      return { items: read.rows.map((row) => ({ number: row.number, item: memoryOf(row, whole) })), error: undefined }
    } catch (cause) {
      return { items: [], error: asApiError(cause) }
    }
  }, [read, plan])
  return (
    <>
      <section class="card stack" aria-label="Columns">
        <div class="head">
          <h2>
            {count(read.rows.length)} {read.rows.length === 1 ? "row" : "rows"} of {read.format}
          </h2>
        </div>
        <div class="fields">
          <Input label="Agent, where a row names none" value={agentId} onValue={setAgent} />
          <Input label="Subject, where a row names none" value={subjectId} onValue={setSubject} hint="none" />
          <Input label="Thread, where a row names none" value={threadId} onValue={setThread} hint="none" />
          <Choice
            label="Kind, where a row names none"
            value={kind}
            options={kinds.map(({ name }) => [name, name])}
            onValue={setKind}
          />
          <Input
            label="Data that all rows have, as JSON"
            value={fixed}
            onValue={setFixed}
            hint={'{"source": "user"}'}
          />
        </div>
        {error !== undefined && <Refused error={error} />}
        <Table
          label="Meaning of the columns"
          columns={columnColumns(read.rows, fields, meanings, (column, meaning) =>
            setTold(new Map(told).set(column, meaning))
          )}
          rows={read.columns}
          keyOf={(column) => column}
        />
      </section>
      {error === undefined && <Run key={plan} items={items} />}
    </>
  )
}

const places: ReadonlyArray<readonly [Meaning, string]> = [
  ["agentId", "agent"],
  ["subjectId", "subject"],
  ["threadId", "thread"],
  ["kind", "kind"],
  ["tags", "tags"],
  ["metadata", "metadata"],
  ["expiresAt", "end"],
  ["data", "all data, as JSON"],
  ["", "left out"]
]

const columnColumns = (
  rows: ReadonlyArray<Row>,
  fields: ReadonlyArray<DataField>,
  meanings: ReadonlyMap<string, Meaning>,
  onMeaning: (column: string, meaning: Meaning) => void
): ReadonlyArray<Column<string>> => [
  { title: "Column", cell: (column) => <UserText of={column} /> },
  { title: "First value", cell: (column) => <UserText of={firstOf(rows, column)} /> },
  {
    title: "What it is",
    cell: (column) => {
      const names = [...new Set([column, ...fields.map(({ name }) => name)])]
      return (
        <Choice
          label={`Column ${column}`}
          isLabelHidden
          value={meanings.get(column) ?? ""}
          options={[...names.map((name) => [`data.${name}`, `field ${name}`] as readonly [Meaning, string]), ...places]}
          onValue={(meaning) => onMeaning(column, meaning)}
        />
      )
    }
  }
]

const shownLength = 80

const firstOf = (rows: ReadonlyArray<Row>, column: string): string => {
  const cell = rows.find(({ fields }) => fields[column] !== undefined && fields[column] !== "")?.fields[column]
  const text = typeof cell === "string" ? cell : (JSON.stringify(cell) ?? "")
  return text.length > shownLength ? `${text.slice(0, shownLength)} …` : text
}

const previewed = 5

type State =
  | { readonly step: "ready" }
  | { readonly step: "trying" | "storing"; readonly done: number; readonly waits?: number | undefined }
  | {
      readonly step: "tried" | "stored"
      readonly outcomes: ReadonlyArray<Outcome>
      readonly error?: ApiError | undefined
    }

const Run = ({ items }: { readonly items: ReadonlyArray<Numbered> }) => {
  const [state, setState] = useState<State>({ step: "ready" })
  const [skips, setSkips] = useState(true)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const controller = useRef(new AbortController())
  // At once: an effect's end comes a frame after the page is gone.
  useLayoutEffect(() => () => controller.current.abort(), [])
  const begin = (step: "trying" | "storing"): AbortSignal => {
    controller.current = new AbortController()
    showError(undefined)
    setState({ step, done: 0 })
    return controller.current.signal
  }
  const stop = (cause: unknown): void => {
    if (!controller.current.signal.aborted) showError(asApiError(cause))
    setState({ step: "ready" })
  }
  const tried = (): void => {
    const signal = begin("trying")
    dryRun(items, signal, (done, waits) => setState({ step: "trying", done, waits })).then(
      (outcomes) => setState({ step: "tried", outcomes }),
      stop
    )
  }
  const store = (outcomes: ReadonlyArray<Outcome>): void => {
    const refused = outcomes.filter(({ result }) => result === "refused")
    const accepted = outcomes.filter(({ result }) => result !== "refused")
    const of = account.value
    const signal = begin("storing")
    const tell = (done: number, waits: number | undefined): void => setState({ step: "storing", done, waits })
    void importAll(accepted, skips ? "return" : "store", signal, tell).then((done) => {
      const all = [...done.outcomes, ...refused].toSorted((one, other) => one.number - other.number)
      setState({ step: "stored", outcomes: all, error: signal.aborted ? undefined : done.error })
      if (done.ids.length > 0) offerRemoval(`${countOfMemories(done.ids.length)} imported.`, done.ids, of)
    })
  }
  const isRunning = state.step === "trying" || state.step === "storing"
  const accepted = state.step === "tried" ? state.outcomes.filter(({ result }) => result !== "refused").length : 0
  return (
    <section class="card stack" aria-label="Import">
      {(state.step === "ready" || isRunning) && (
        <>
          <h2>How the first rows look</h2>
          <Table
            label="First rows"
            columns={previewColumns}
            rows={items.slice(0, previewed)}
            keyOf={({ number }) => String(number)}
          />
        </>
      )}
      {error !== undefined && <Refused error={error} />}
      {isRunning && (
        <div class="stack tight" role="status">
          <progress max={items.length} value={state.done} aria-label="Rows done" />
          <p class="small muted">
            {state.step === "trying" ? "Tried" : "Stored"}: {count(state.done)} of {count(items.length)}
            {state.waits !== undefined && `, waits ${duration(state.waits)} for the limit of calls`}
          </p>
        </div>
      )}
      {(state.step === "tried" || state.step === "stored") && (
        <>
          <Summary outcomes={state.outcomes} />
          <RefusedRows outcomes={state.outcomes} />
          {state.error !== undefined && <Refused error={state.error} />}
          <GrowingTable
            label="Result of each row"
            columns={outcomeColumns}
            rows={state.outcomes}
            keyOf={({ number }) => String(number)}
            empty="No row."
          />
        </>
      )}
      {state.step === "tried" && (
        <Check label="Leave out what is stored already" checked={skips} onChecked={setSkips} />
      )}
      <div class="actions">
        {isRunning ? (
          <button type="button" onClick={() => controller.current.abort()}>
            Stop
          </button>
        ) : (
          <button type="button" class={state.step === "ready" ? "primary" : undefined} onClick={tried}>
            {state.step === "ready" ? "Dry run" : "Dry run again"}
          </button>
        )}
        {state.step === "tried" && (
          <button type="button" class="primary" disabled={accepted === 0} onClick={() => store(state.outcomes)}>
            Import {count(accepted)} {accepted === 1 ? "row" : "rows"}
          </button>
        )}
      </div>
    </section>
  )
}

const tones: Readonly<Record<Outcome["result"], string>> = {
  "would be stored": "good",
  stored: "good",
  "replaced an older version": "accent",
  "was there already": "",
  refused: "bad"
}

const Summary = ({ outcomes }: { readonly outcomes: ReadonlyArray<Outcome> }) => (
  <p class="meta" role="status">
    {[...Map.groupBy(outcomes, ({ result }) => result)].map(([result, { length }]) => (
      <span key={result} class={`badge ${tones[result]}`}>
        {count(length)} {result}
      </span>
    ))}
  </p>
)

/** Rows to mend in a file of their own, with the reasons. */
const RefusedRows = ({ outcomes }: { readonly outcomes: ReadonlyArray<Outcome> }) => {
  const refused = outcomes.filter(({ result }) => result === "refused")
  if (refused.length === 0) return null
  const lines = refused.map(({ item: { memory, ...place }, number, reason }) =>
    JSON.stringify({ row: number, reason, ...place, ...memory })
  )
  return (
    <div class="actions">
      <button type="button" onClick={() => save("refused.jsonl", `${lines.join("\n")}\n`)}>
        Save the refused rows
      </button>
    </div>
  )
}

const dataText = ({ memory: { data } }: Numbered["item"]): string => summary(data as Readonly<Record<string, unknown>>)

const previewColumns: ReadonlyArray<Column<Numbered>> = [
  { title: "Row", isNumber: true, cell: ({ number }) => count(number) },
  { title: "Memory", cell: ({ item }) => <UserText of={dataText(item)} /> },
  { title: "Kind", cell: ({ item }) => item.memory.kind },
  { title: "Agent", cell: ({ item }) => <UserText of={item.agentId} /> },
  { title: "Subject", cell: ({ item }) => <UserText of={item.subjectId} /> },
  { title: "Tags", cell: ({ item }) => <UserText of={item.memory.tags?.join(", ")} /> }
]

const outcomeColumns: ReadonlyArray<Column<Outcome>> = [
  { title: "Row", isNumber: true, by: ({ number }) => number, cell: ({ number }) => count(number) },
  {
    title: "Memory",
    cell: ({ id, item }) =>
      id === undefined ? (
        <UserText of={dataText(item)} />
      ) : (
        <a href={linkTo("memories", { agentId: item.agentId, id })}>
          <UserText of={dataText(item)} />
        </a>
      )
  },
  {
    title: "Result",
    by: ({ result }) => result,
    cell: ({ result }) => <span class={`badge ${tones[result]}`}>{result}</span>
  },
  { title: "Reason", by: ({ reason }) => reason, cell: ({ reason }) => <UserText of={reason} /> }
]
