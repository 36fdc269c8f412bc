/** Memories stored by hand: one by a form of its kind's fields, or many of a file. */
import { useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { storeRequest, tagsIn } from "../service/bulk.ts"
import { type Schema, schemasOf, usualKind } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { linkTo, parameters } from "../service/route.ts"
import { type DataField, fieldsOf, jsonObject, valueOf } from "../service/schemaFields.ts"
import { memoryChanges, offerRemoval } from "../service/undo.ts"
import { Check, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { type End, endNames, ends } from "./ends.ts"
import { ImportRows } from "./ImportRows.tsx"

const ways = { one: "One memory", many: "Import many" } as const

export const Add = () => {
  const way = parameters.value.get("show") === "many" ? "many" : "one"
  const { loaded } = useLoad(schemasOf, [])
  return (
    <>
      <div class="head">
        <h2>Add memories</h2>
      </div>
      <nav class="tabs" aria-label="Parts of this page">
        {(["one", "many"] as const).map((name) => (
          <a
            key={name}
            href={linkTo("add", { agentId: parameters.value.get("agentId") ?? "", show: name === "one" ? "" : name })}
            aria-current={name === way ? "true" : undefined}
          >
            {ways[name]}
          </a>
        ))}
      </nav>
      <Show of={loaded}>
        {(schemas) => {
          const kinds = schemas.filter(({ name }) => name !== "conversation_message")
          return way === "one" ? <OneMemory kinds={kinds} /> : <ImportRows kinds={kinds} />
        }}
      </Show>
    </>
  )
}

const OneMemory = ({ kinds }: { readonly kinds: ReadonlyArray<Schema> }) => {
  const [kind, setKind] = useState<string>(usualKind)
  const [agentId, setAgent] = useState(parameters.value.get("agentId") ?? "")
  const [subjectId, setSubject] = useState(parameters.value.get("subjectId") ?? "")
  const [threadId, setThread] = useState("")
  const [tags, setTags] = useState("")
  const [end, setEnd] = useState<End>("never")
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [isJson, setJson] = useState(false)
  const [json, setText] = useState("{}")
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [stored, setStored] = useState<{ readonly id: string; readonly round: number } | undefined>(undefined)
  const [isSending, setSending] = useState(false)
  const schema = kinds.find(({ name }) => name === kind)
  const fields = fieldsOf(schema?.schema ?? "")
  const asJson = isJson || fields.length === 0
  const dataOf = () =>
    Object.fromEntries(
      fields.flatMap((field) => {
        const value = valueOf(field, values[field.name] ?? "")
        return value === undefined ? [] : [[field.name, value]]
      })
    )
  const send = async (): Promise<void> => {
    const [, millis] = ends[end]
    const memory = {
      kind,
      data: asJson ? jsonObject(json, "The data") : dataOf(),
      ...(tagsIn(tags).length > 0 && { tags: tagsIn(tags) }),
      ...(millis !== null && { expiresAt: now() + millis })
    }
    const place = { agentId, subjectId: subjectId || undefined, threadId: threadId || undefined }
    const { created, updated } = await storeRequest([{ ...place, memory }])
    const ids = [...created, ...updated].map(({ id }) => id)
    offerRemoval("1 memory stored.", ids)
    setStored({ id: ids[0] ?? "", round: memoryChanges.value })
    setValues({})
    setText("{}")
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    showError(undefined)
    setStored(undefined)
    setSending(true)
    send()
      .catch((cause: unknown) => showError(asApiError(cause)))
      .finally(() => setSending(false))
  }
  return (
    <form class="card stack add" onSubmit={submit}>
      <div class="fields">
        <Choice label="Kind" value={kind} options={kinds.map(({ name }) => [name, name])} onValue={setKind} />
        <Input label="Agent" value={agentId} onValue={setAgent} required />
        <Input label="Subject" value={subjectId} onValue={setSubject} hint="none" />
        <Input label="Thread" value={threadId} onValue={setThread} hint="none" />
      </div>
      {schema !== undefined && schema.description !== "" && <p class="small muted">{schema.description}</p>}
      <fieldset class="stack">
        <legend>Data</legend>
        {fields.length > 0 && (
          <Check
            label="As JSON"
            checked={isJson}
            onChecked={(checked) => {
              if (checked) setText(JSON.stringify(dataOf(), null, 2))
              setJson(checked)
            }}
          />
        )}
        {asJson ? (
          <label>
            <span>Data, as JSON</span>
            <textarea rows={8} value={json} onInput={({ currentTarget: { value } }) => setText(value)} />
          </label>
        ) : (
          <div class="fields wide">
            {fields.map((field) => (
              <DataInput
                key={field.name}
                field={field}
                value={values[field.name] ?? ""}
                onValue={(value) => setValues({ ...values, [field.name]: value })}
              />
            ))}
          </div>
        )}
      </fieldset>
      <div class="fields">
        <Input label="Tags, separated by commas" value={tags} onValue={setTags} />
        <Choice label="It ends" value={end} options={endNames.map((name) => [name, ends[name][0]])} onValue={setEnd} />
      </div>
      {error !== undefined && <Refused error={error} />}
      {stored !== undefined && stored.round === memoryChanges.value && (
        <Notice tone="good">
          Stored: <a href={linkTo("memories", { id: stored.id })}>open the memory</a>, or add another one.
        </Notice>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={isSending}>
          {isSending ? "Storing …" : "Store"}
        </button>
      </div>
    </form>
  )
}

const DataInput = (given: {
  readonly field: DataField
  readonly value: string
  readonly onValue: (value: string) => void
}) => {
  const { field, onValue, value } = given
  const label = `${field.name}${field.isRequired ? "" : ", optional"}`
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
  return (
    <Input
      label={field.type === "json" ? `${label}, as JSON` : label}
      value={value}
      onValue={onValue}
      hint={field.hint}
      required={field.isRequired}
    />
  )
}
