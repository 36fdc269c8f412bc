/** The data of a memory in a form: by the fields of its kind, or as JSON. */
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { ApiError, call } from "../service/api.ts"
import { schemasOf } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { historyOf, type Memory } from "../service/memories.ts"
import { account, change } from "../service/route.ts"
import {
  type Data,
  type DataField,
  dataWith,
  fieldsOf,
  jsonObject,
  parsedObject,
  textsOf,
  valueIn
} from "../service/schemaFields.ts"
import { offerBefore } from "../service/undo.ts"
import { seenJson } from "../service/words.ts"
import { Check, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"

const asText = (data: Data): string => seenJson(JSON.stringify(data, null, 2))

/** Characters from which a text has room for lines. */
const longText = 60

/**
 * Starts with `data`; what it holds beside `fields` stays as it is. `onRead` is told how to read what was typed, which
 * fails where that is no JSON object. Data with signs that would turn or hide text is shown as JSON, where they are seen.
 */
export const DataForm = (given: {
  readonly data: Data
  readonly fields: ReadonlyArray<DataField>
  readonly onRead: (read: () => Data) => void
  readonly hasFocus?: boolean
}) => {
  const { fields, onRead } = given
  const [data, setData] = useState(given.data)
  const start = textsOf(fields, data)
  const isSeen = asText(data) === JSON.stringify(data, null, 2)
  const [isJson, setJson] = useState(fields.length === 0 || !isSeen)
  const [texts, setTexts] = useState(start)
  const [json, setText] = useState(() => asText(data))
  const form = useRef<HTMLFieldSetElement>(null)
  // The panel may be scrolled; the browser brings what has the focus into view.
  useLayoutEffect(() => {
    if (given.hasFocus !== true) return
    form.current?.querySelector<HTMLElement>("textarea, select, input:not([type=checkbox])")?.focus()
  }, [])
  const byFields = (typed: Readonly<Record<string, string>>) => () => dataWith(fields, data, start, typed)
  const readJson = (text: string) => (): Data => jsonObject(text, "The data")
  const showJson = (): void => {
    const text = asText(byFields(texts)())
    setText(text)
    setJson(true)
    onRead(readJson(text))
  }
  /** Not while the text is no JSON object: the fields could not show it. */
  const showFields = (): void => {
    const typed = parsedObject(json)
    setJson(typed === undefined)
    if (typed === undefined) return
    setData(typed)
    setTexts(textsOf(fields, typed))
    onRead(() => typed)
  }
  return (
    <fieldset class="stack" ref={form}>
      <legend>Data</legend>
      {fields.length > 0 && (
        <Check label="As JSON" checked={isJson} onChecked={(checked) => (checked ? showJson() : showFields())} />
      )}
      {isJson ? (
        <label>
          <span>Data, as JSON</span>
          <textarea
            rows={8}
            value={json}
            onInput={({ currentTarget: { value } }) => {
              setText(value)
              onRead(readJson(value))
            }}
          />
        </label>
      ) : (
        <div class="fields wide">
          {fields.map((field) => (
            <DataInput
              key={field.name}
              field={field}
              isLong={(start[field.name] ?? "").length > longText || (start[field.name] ?? "").includes("\n")}
              value={texts[field.name] ?? ""}
              onValue={(value) => {
                const typed = { ...texts, [field.name]: value }
                setTexts(typed)
                onRead(byFields(typed))
              }}
            />
          ))}
        </div>
      )}
    </fieldset>
  )
}

const DataInput = (given: {
  readonly field: DataField
  readonly isLong: boolean
  readonly value: string
  readonly onValue: (value: string) => void
}) => {
  const { field, onValue, value } = given
  const label = `${field.name}${field.isRequired ? "" : ", optional"}${field.type === "json" ? ", as JSON" : ""}`
  if (field.type === "choice" || field.type === "boolean") {
    const choices = field.type === "boolean" ? ["true", "false"] : field.choices
    return (
      <Choice
        label={label}
        value={value}
        options={[["", "choose …"], ...choices.map((choice) => [choice, choice] as const)]}
        onValue={onValue}
      />
    )
  }
  if (given.isLong) {
    return (
      <label>
        <span>{label}</span>
        <textarea
          dir="auto"
          rows={4}
          value={value}
          required={field.isRequired}
          onInput={({ currentTarget: { value: typed } }) => onValue(typed)}
        />
      </label>
    )
  }
  return <Input label={label} value={value} onValue={onValue} hint={field.hint} required={field.isRequired} />
}

/** Changes the data of a stored memory; what somebody else changed meanwhile is shown before it is replaced. */
export const DataEditor = (given: {
  readonly memory: Memory
  readonly onClose: () => void
  readonly onChanged: () => void
}) => {
  const { memory } = given
  const { loaded } = useLoad(schemasOf, [])
  const read = useRef((): Data => memory.data)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [newer, showNewer] = useState<Memory | undefined>(undefined)
  const [isSaving, setSaving] = useState(false)
  const end = ({ id }: Memory): void => {
    given.onClose()
    given.onChanged()
    if (id !== memory.id) change({ id })
  }
  const send = async (): Promise<void> => {
    const old = newer ?? memory
    const of = account.value
    try {
      const stored = await store(old, read.current())
      offerBefore("Data changed.", old, stored, { data: old.data }, of)
      end(stored)
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 412)) throw cause
      showNewer((await historyOf(memory.id, new AbortController().signal))[0]?.memory)
    }
  }
  const save = (event: Event): void => {
    event.preventDefault()
    setSaving(true)
    showError(undefined)
    send()
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => setSaving(false))
  }
  return (
    <form
      class="stack"
      onSubmit={save}
      // Escape ends it, unless something would be lost; the panel around it stays.
      onKeyDown={(event) => {
        if (event.key !== "Escape") return
        event.stopPropagation()
        if (JSON.stringify(valueIn(read.current)) === JSON.stringify(memory.data)) given.onClose()
      }}
    >
      <Show of={loaded}>
        {(schemas) => (
          <DataForm
            data={memory.data}
            fields={fieldsOf(schemas.find(({ name }) => name === memory.kind)?.schema ?? "")}
            onRead={(how) => (read.current = how)}
            hasFocus
          />
        )}
      </Show>
      {newer === undefined ? (
        <p class="small muted">
          A kind with unique fields keeps what was known before as an older version; of other kinds it is replaced.
        </p>
      ) : (
        <Notice tone="bad">
          <p>Somebody else changed this memory since you opened it. Nothing of yours is stored. It now says:</p>
          <pre>{asText(newer.data)}</pre>
        </Notice>
      )}
      {error !== undefined && <Refused error={error} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={isSaving}>
          {newer === undefined ? "Save data" : "Save mine over it"}
        </button>
        <button type="button" onClick={newer === undefined ? given.onClose : () => end(newer)}>
          {newer === undefined ? "Cancel" : "Keep theirs"}
        </button>
      </div>
    </form>
  )
}

/** The memory that has the data now; 412 if it is another version than the one given. */
const store = async ({ id, version }: Memory, data: Data): Promise<Memory> =>
  (
    await call("PATCH", `/v1/memories/${encodeURIComponent(id)}`, {
      body: { data },
      headers: { "if-match": `"${version}"` }
    })
  ).memory
