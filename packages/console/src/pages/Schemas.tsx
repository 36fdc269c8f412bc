/** Kinds of memories: which there are and how many memories each has; one beside them, to read, try and change. */
import { useState } from "preact/hooks"
import {
  facetsOf,
  type Schema,
  schemasOf,
  registerSchema,
  removeSchema,
  saveSchema,
  type Tried,
  tryData
} from "../service/knowledge.ts"
import { useLoad, asApiError } from "../service/load.ts"
import { change, parameters, linkTo } from "../service/route.ts"
import { count, countOfMemories } from "../service/words.ts"
import { Empty, Show, Notice, Refused } from "../ui/Notice.tsx"
import { ApiError } from "../service/api.ts"
import { parsed } from "../service/json.ts"
import { moment } from "../service/text.ts"
import { mayChangeAccount } from "../service/session.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { type Column, Table } from "../ui/Table.tsx"

const kindsMax = 1_000

interface Loaded {
  readonly schemas: ReadonlyArray<Schema>
  readonly counts: ReadonlyMap<string, number>
}

const load = async (signal: AbortSignal): Promise<Loaded> => {
  const [schemas, kinds] = await Promise.all([
    schemasOf(signal),
    facetsOf("kinds", { includeSuperseded: true, limit: kindsMax }, signal)
  ])
  return { schemas, counts: new Map(kinds.values.map(({ memories, value }) => [value, memories])) }
}

export const Schemas = () => {
  const name = parameters.value.get("name") ?? undefined
  const [round, setRound] = useState(0)
  const { loaded } = useLoad(load, [round])
  const reload = () => setRound((value) => value + 1)
  return (
    <>
      <div class="head">
        <h2>Schemas</h2>
        <div class="actions">
          {name !== undefined && mayChangeAccount() && (
            <button type="button" onClick={() => change({ name: "" })}>
              New schema
            </button>
          )}
        </div>
      </div>
      <Show of={loaded}>
        {({ counts, schemas }) => {
          const chosen = schemas.find((schema) => schema.name === name)
          return (
            <div class={`pages ${chosen === undefined ? "" : "chosen"}`}>
              <Names schemas={schemas} counts={counts} current={chosen?.name} />
              {chosen === undefined && !mayChangeAccount() ? (
                <section class="card">
                  <Empty title="Choose a schema">
                    <p>Its page shows its fields, and tries data against them.</p>
                  </Empty>
                </section>
              ) : chosen === undefined ? (
                <NewSchema
                  onDone={(made) => {
                    reload()
                    change({ name: made })
                  }}
                />
              ) : (
                <SchemaPage
                  key={chosen.name}
                  schema={chosen}
                  memories={counts.get(chosen.name) ?? 0}
                  onChanged={reload}
                />
              )}
            </div>
          )
        }}
      </Show>
    </>
  )
}

const Names = (given: Loaded & { readonly current: string | undefined }) => {
  const group = (isBuiltin: boolean) => given.schemas.filter(({ builtin }) => (builtin ?? false) === isBuiltin)
  return (
    <section class="stack values" aria-label="All schemas">
      {group(false).length === 0 && (
        <Empty title="No schema is registered">
          <p>The built-in kinds below need no registration.</p>
        </Empty>
      )}
      {[false, true].map((isBuiltin) =>
        group(isBuiltin).length === 0 ? null : (
          <div key={String(isBuiltin)} class="stack">
            <h3>{isBuiltin ? "Built in" : "Registered"}</h3>
            <ul class="choices">
              {group(isBuiltin).map(({ name, uniqueOn = [] }) => (
                <li key={name}>
                  <button type="button" aria-current={name === given.current} onClick={() => change({ name })}>
                    <span class="what">{name}</span>
                    <span class="small muted number">{count(given.counts.get(name) ?? 0)}</span>
                    <span class="small muted">{uniqueOn.length > 0 && `unique on ${uniqueOn.join(", ")}`}</span>
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )
      )}
    </section>
  )
}

/** One schema: its fields, data tried against it, changes and deletion; and the form of a new one. */
const SchemaPage = (given: { readonly schema: Schema; readonly memories: number; readonly onChanged: () => void }) => {
  const { memories, schema } = given
  const isBuiltin = schema.builtin === true
  const [draft, setDraft] = useState(() => draftOf(schema))
  const { description, uniqueOn } = draft
  const written = { description, uniqueOn, schema: pretty(draft.schema) }
  const isChanged = JSON.stringify(written) !== JSON.stringify(draftOf(schema))
  return (
    <section class="card stack" aria-label="Schema">
      <div class="head">
        <h2>{schema.name}</h2>
        <div class="actions">
          <button type="button" onClick={() => change({ name: "" })}>
            Close
          </button>
        </div>
      </div>
      <p>{schema.description}</p>
      <div class="meta">
        {isBuiltin && <span class="badge accent">built in</span>}
        {(schema.uniqueOn ?? []).map((field) => (
          <span key={field} class="badge">
            unique on {field}
          </span>
        ))}
        <a href={linkTo("memories", { kind: schema.name, versions: "all" })}>{countOfMemories(memories)}</a>
        {schema.updatedAt !== undefined && <span>changed {moment(schema.updatedAt)}</span>}
      </div>
      <Fields text={schema.schema} />
      <TryData
        body={() => (isChanged ? { schema: draft.schema, uniqueOn: listOf(draft.uniqueOn) } : { kind: schema.name })}
        note={isChanged ? "against the changed schema, before it is saved" : ""}
      />
      {isBuiltin || !mayChangeAccount() ? (
        <details>
          <summary>As JSON Schema</summary>
          <pre tabIndex={0}>{pretty(schema.schema)}</pre>
        </details>
      ) : (
        <Edit draft={draft} isChanged={isChanged} onDraft={setDraft} {...given} />
      )}
    </section>
  )
}

interface Draft {
  readonly description: string
  readonly uniqueOn: string
  readonly schema: string
}

const draftOf = ({ description, schema, uniqueOn = [] }: Schema): Draft => ({
  description,
  uniqueOn: uniqueOn.join(", "),
  schema: pretty(schema)
})

const listOf = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((field) => field.trim())
    .filter((field) => field !== "")

const pretty = (text: string): string => {
  const value = parsed(text)
  return value === undefined ? text : JSON.stringify(value, null, 2)
}

interface FieldRow {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fieldsOf = (text: string): ReadonlyArray<FieldRow> => {
  const schema = parsed(text)
  if (!isObject(schema) || !isObject(schema["properties"])) return []
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return Object.entries(schema["properties"]).map(([name, field]) => ({
    name,
    type: isObject(field) ? typeOf(field) : "anything",
    isRequired: required.includes(name),
    description: isObject(field) && typeof field["description"] === "string" ? field["description"] : ""
  }))
}

const typeOf = (field: Readonly<Record<string, unknown>>): string => {
  const { anyOf, enum: values, format, items, type } = field
  if (Array.isArray(values)) return `one of ${values.map(String).join(", ")}`
  if (Array.isArray(anyOf)) return [...new Set(anyOf.filter(isObject).map(typeOf))].join(" or ")
  const name = Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "anything"
  if (name === "array" && isObject(items)) return `array of ${typeOf(items)}`
  return typeof format === "string" ? format : name
}

const columns: ReadonlyArray<Column<FieldRow>> = [
  { title: "Field", cell: ({ name }) => <code>{name}</code> },
  { title: "Type", cell: ({ type }) => type },
  { title: "Needed", cell: ({ isRequired }) => (isRequired ? "yes" : "no") }
]
const meaning: Column<FieldRow> = { title: "Meaning", cell: ({ description }) => description }

const Fields = ({ text }: { readonly text: string }) => {
  const rows = fieldsOf(text)
  const isDescribed = rows.some(({ description }) => description !== "")
  return (
    <Table
      label="Fields"
      columns={isDescribed ? [...columns, meaning] : columns}
      rows={rows}
      keyOf={({ name }) => name}
    />
  )
}

const TryData = ({ body, note }: { readonly body: () => object; readonly note: string }) => {
  const [text, setText] = useState("{}")
  const [tried, setTried] = useState<Tried | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const attempt = (event: Event): void => {
    event.preventDefault()
    setTried(undefined)
    showError(undefined)
    const data = parsed(text)
    if (!isObject(data))
      return showError(new ApiError(400, { error: "The data is no JSON object.", code: "invalid_json" }))
    tryData({ ...body(), data }).then(setTried, (cause: unknown) => showError(asApiError(cause)))
  }
  return (
    <form class="stack" onSubmit={attempt}>
      <label>
        <span>Data to try, as JSON</span>
        <textarea rows={4} value={text} onInput={({ currentTarget: { value } }) => setText(value)} />
      </label>
      <div class="actions">
        <button type="submit">Try</button>
        <span class="small muted">Nothing is stored. {note}</span>
      </div>
      {error !== undefined && <Refused error={error} />}
      {tried !== undefined && <TriedNotice tried={tried} />}
    </form>
  )
}

const TriedNotice = ({ tried: { data, problems, valid } }: { readonly tried: Tried }) =>
  valid ? (
    <Notice tone="good">
      <strong>It would be accepted.</strong>
      <pre tabIndex={0}>{JSON.stringify(data, null, 2)}</pre>
    </Notice>
  ) : (
    <Notice tone="warn">
      <strong>It would be refused.</strong>
      <ul>
        {problems.map(({ message, path }) => (
          <li key={`${path} ${message}`}>
            {path !== "" && <code>{path}</code>} {message}
          </li>
        ))}
      </ul>
    </Notice>
  )

const SchemaFields = (given: { readonly draft: Draft; readonly onDraft: (draft: Draft) => void }) => {
  const { draft, onDraft } = given
  return (
    <>
      <label>
        <span>Description, read by the reader of conversations</span>
        <input
          value={draft.description}
          required
          onInput={({ currentTarget: { value } }) => onDraft({ ...draft, description: value })}
        />
      </label>
      <label>
        <span>Unique on, fields separated by commas</span>
        <input
          value={draft.uniqueOn}
          onInput={({ currentTarget: { value } }) => onDraft({ ...draft, uniqueOn: value })}
        />
      </label>
      <label>
        <span>JSON Schema</span>
        <textarea
          rows={12}
          value={draft.schema}
          required
          onInput={({ currentTarget: { value } }) => onDraft({ ...draft, schema: value })}
        />
      </label>
    </>
  )
}

const Edit = (given: {
  readonly schema: Schema
  readonly draft: Draft
  readonly memories: number
  readonly isChanged: boolean
  readonly onDraft: (draft: Draft) => void
  readonly onChanged: () => void
}) => {
  const { draft, isChanged, memories, schema } = given
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isDeleting, setDeleting] = useState(false)
  const submit = (event: Event): void => {
    event.preventDefault()
    showError(undefined)
    const { description, uniqueOn, schema: text } = draft
    saveSchema(schema.name, { description, uniqueOn: listOf(uniqueOn), schema: text }).then(
      given.onChanged,
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <form class="stack" aria-label="Change" onSubmit={submit}>
      <h3>Change</h3>
      <SchemaFields draft={draft} onDraft={given.onDraft} />
      {error !== undefined && <Refused error={error} />}
      {isChanged && memories > 0 && (
        <p class="small muted">{count(memories)} stored memories stay as they are; they are not checked again.</p>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={!isChanged}>
          Save
        </button>
        <button type="button" disabled={!isChanged} onClick={() => given.onDraft(draftOf(schema))}>
          Undo
        </button>
        <button type="button" class="danger" onClick={() => setDeleting(true)}>
          Delete …
        </button>
      </div>
      {isDeleting && (
        <Confirm
          title={`Delete the schema ${schema.name}`}
          action="Delete"
          preview={() => Promise.resolve(memories)}
          describe={(stay) => (
            <p>
              New memories of this kind are refused from then on. Stored ones stay, and are still found:{" "}
              <strong>{count(stay)}</strong>.
            </p>
          )}
          run={async () => {
            await removeSchema(schema.name)
            change({ name: "" })
            given.onChanged()
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </form>
  )
}

const firstSchema = {
  type: "object",
  properties: { email: { type: "string" }, name: { type: "string" } },
  required: ["email"]
}

const NewSchema = ({ onDone }: { readonly onDone: (name: string) => void }) => {
  const [name, setName] = useState("")
  const [draft, setDraft] = useState<Draft>({
    description: "",
    uniqueOn: "email",
    schema: JSON.stringify(firstSchema, null, 2)
  })
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const submit = (event: Event): void => {
    event.preventDefault()
    showError(undefined)
    const { description, schema, uniqueOn } = draft
    registerSchema({ name, description, uniqueOn: listOf(uniqueOn), schema }).then(
      () => onDone(name),
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <section class="card stack" aria-label="New schema">
      <div class="head">
        <h2>New schema</h2>
      </div>
      <form class="stack" onSubmit={submit}>
        <label>
          <span>Name, the kind of its memories</span>
          <input value={name} required onInput={({ currentTarget: { value } }) => setName(value)} />
        </label>
        <SchemaFields draft={draft} onDraft={setDraft} />
        {error !== undefined && <Refused error={error} />}
        <div class="actions">
          <button type="submit" class="primary">
            Register
          </button>
        </div>
      </form>
      <TryData body={() => ({ schema: draft.schema, uniqueOn: listOf(draft.uniqueOn) })} note="" />
    </section>
  )
}
