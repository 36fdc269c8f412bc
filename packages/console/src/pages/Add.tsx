/** Memories stored by hand: one by a form of its kind's fields, or many of a file. */
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { storeRequest, tagsIn } from "../service/bulk.ts"
import { type Schema, schemasOf, usualKind } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { account, linkTo, parameters } from "../service/route.ts"
import { type Data, fieldsOf, valueIn } from "../service/schemaFields.ts"
import { memoryChanges, offerRemoval } from "../service/undo.ts"
import { Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { DataForm } from "./DataEditor.tsx"
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

interface Begun {
  readonly data: Data
  readonly round: number
}
const begunAnew = ({ round }: Begun, data: Data): Begun => ({ data, round: round + 1 })

const OneMemory = ({ kinds }: { readonly kinds: ReadonlyArray<Schema> }) => {
  const [kind, setKind] = useState<string>(usualKind)
  const [agentId, setAgent] = useState(parameters.value.get("agentId") ?? "")
  const [subjectId, setSubject] = useState(parameters.value.get("subjectId") ?? "")
  const [threadId, setThread] = useState("")
  const [tags, setTags] = useState("")
  const [end, setEnd] = useState<End>("never")
  const [{ data, round }, begin] = useReducer(begunAnew, { data: {}, round: 0 })
  const read = useRef((): Data => ({}))
  useLayoutEffect(() => {
    read.current = () => data
  }, [round])
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [stored, setStored] = useState<{ readonly id: string; readonly round: number } | undefined>(undefined)
  const [isSending, setSending] = useState(false)
  const schema = kinds.find(({ name }) => name === kind)
  const fields = fieldsOf(schema?.schema ?? "")
  /** Fields that both kinds have keep what was typed. */
  const choose = (next: string): void => {
    const names = new Set(fieldsOf(kinds.find(({ name }) => name === next)?.schema ?? "").map(({ name }) => name))
    const typed = Object.entries(valueIn(read.current))
    begin(Object.fromEntries(typed.filter(([name]) => names.has(name))))
    setKind(next)
  }
  const send = async (): Promise<void> => {
    const [, millis] = ends[end]
    const memory = {
      kind,
      data: read.current(),
      ...(tagsIn(tags).length > 0 && { tags: tagsIn(tags) }),
      ...(millis !== null && { expiresAt: now() + millis })
    }
    const place = { agentId, subjectId: subjectId || undefined, threadId: threadId || undefined }
    const of = account.value
    const { created, updated } = await storeRequest([{ ...place, memory }])
    const ids = [...created, ...updated].map(({ id }) => id)
    offerRemoval("1 memory stored.", ids, of)
    setStored({ id: ids[0] ?? "", round: memoryChanges.value })
    begin({})
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
        <Choice label="Kind" value={kind} options={kinds.map(({ name }) => [name, name])} onValue={choose} />
        <Input label="Agent" value={agentId} onValue={setAgent} required />
        <Input label="Subject" value={subjectId} onValue={setSubject} hint="none" />
        <Input label="Thread" value={threadId} onValue={setThread} hint="none" />
      </div>
      {schema !== undefined && schema.description !== "" && <p class="small muted">{schema.description}</p>}
      <DataForm key={round} data={data} fields={fields} onRead={(how) => (read.current = how)} />
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
