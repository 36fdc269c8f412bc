/** One memory: its data, where it came from, its versions, its tags; delete. */
import type { HistoryEntry } from "@muniment/domain/Memory"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { effect, signal } from "@preact/signals"
import { asApiError, useLoad } from "../service/load.ts"
import type { ApiError } from "../service/api.ts"
import { tagsIn } from "../service/bulk.ts"
import {
  changeTags,
  conversationOf,
  type Memory,
  sourcesOf,
  systemList,
  systemNumber,
  systemText,
  historyOf,
  restoreVersion
} from "../service/memories.ts"
import { account, change, linkTo, parameters } from "../service/route.ts"
import { ago, moment } from "../service/text.ts"
import { discard, memoryChanges, offerBefore } from "../service/undo.ts"
import { seen, summary } from "../service/words.ts"
import { Confirm, SidePanel } from "../ui/Dialog.tsx"
import { Refused, Show } from "../ui/Notice.tsx"
import { useDraft } from "../ui/Field.tsx"
import { UserText } from "../ui/UserText.tsx"
import { DataEditor } from "./DataEditor.tsx"
import { allOf } from "../service/knowledge.ts"
import { keyLabels } from "../service/operator.ts"
import { isBound, may, mayChange, session } from "../service/session.ts"
import { Fact } from "../ui/Table.tsx"

export const MemoryPanel = (given: {
  readonly id: string
  readonly onClose: () => void
  readonly onChanged: () => void
}) => {
  const { loaded, reload } = useLoad((signal) => historyOf(given.id, signal), [given.id, memoryChanges.value])
  return (
    <SidePanel label="Memory" title="Memory" onClose={given.onClose}>
      <Show of={loaded}>
        {(versions) => {
          const entry = versions.find(({ memory }) => memory.id === given.id)
          return entry === undefined ? null : (
            <Details
              entry={entry}
              versions={versions}
              onChanged={() => {
                reload()
                given.onChanged()
              }}
              onDeleted={() => {
                given.onClose()
                given.onChanged()
              }}
            />
          )
        }}
      </Show>
    </SidePanel>
  )
}

const Details = (given: {
  readonly entry: HistoryEntry
  readonly versions: ReadonlyArray<HistoryEntry>
  readonly onChanged: () => void
  readonly onDeleted: () => void
}) => {
  const { entry, versions } = given
  const { memory } = entry
  const [isDeleting, setDeleting] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const editButton = useRef<HTMLButtonElement>(null)
  const [wasEditing, setEdited] = useState(false)
  useLayoutEffect(() => {
    if (isEditing) setEdited(true)
    else if (wasEditing) editButton.current?.focus()
  }, [isEditing])
  return (
    <>
      <div class="meta">
        <span class="badge accent">{memory.kind}</span>
        {memory.context.isLatest ? <span class="badge good">latest</span> : <span class="badge warn">superseded</span>}
      </div>
      {isEditing ? (
        <DataEditor memory={memory} onClose={() => setEditing(false)} onChanged={given.onChanged} />
      ) : (
        <dl class="facts">
          {Object.entries(memory.data).map(([name, value]) => (
            <Fact key={name} name={name}>
              {shownText(typeof value === "string" ? value : JSON.stringify(value))}
            </Fact>
          ))}
        </dl>
      )}
      {mayChange() ? (
        <Tags memory={memory} onChanged={given.onChanged} />
      ) : (
        memory.context.tags.length > 0 && (
          <dl class="facts">
            <Fact name="Tags">
              <UserText of={memory.context.tags.join(", ")} />
            </Fact>
          </dl>
        )
      )}
      <SystemFacts entry={entry} />
      {systemList(memory, "sourceMessageIds").length > 0 && <Sources entry={entry} />}
      {versions.length > 1 && <Versions versions={versions} shown={memory.id} onChanged={given.onChanged} />}
      <div class="actions">
        {mayChange() && memory.context.isLatest && memory.kind !== "conversation_message" && !isEditing && (
          <button type="button" ref={editButton} onClick={() => setEditing(true)}>
            Edit data
          </button>
        )}
        <a class="button" href={linkTo("search", { query: lastQuestion.value, expected: memory.id })}>
          Why is it not found?
        </a>
        {mayChange() && (
          <button type="button" class="danger" onClick={() => setDeleting(true)}>
            Delete …
          </button>
        )}
      </div>
      {isDeleting && (
        <Confirm
          title="Delete this memory"
          action="Delete"
          preview={() => Promise.resolve(versions.length)}
          describe={(found) => (
            <p>
              The service deletes it, with its full text and its vector
              {found > 1 && ", with its other versions"}. This window keeps it in the <a href={linkTo("bin")}>bin</a>{" "}
              for an hour.
            </p>
          )}
          run={async () => {
            await discard([memory])
            given.onDeleted()
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  )
}

/** All that the service says of a memory beside its data. */
const SystemFacts = ({ entry }: { readonly entry: HistoryEntry }) => {
  const { memory } = entry
  const { mentions, when } = memory.context
  const at = systemNumber(memory, "createdAt")
  const expiresAt = systemNumber(memory, "expiresAt")
  return (
    <dl class="facts small">
      <Fact name="Agent">{shownText(systemText(memory, "agentId"))}</Fact>
      <Fact name="Subject">{shownText(systemText(memory, "subjectId"))}</Fact>
      <Fact name="Thread">{shownText(systemText(memory, "threadId"))}</Fact>
      <Fact name="Happened">{when === undefined ? undefined : moment(Date.parse(when))}</Fact>
      <Fact name="Stored">{at === undefined ? undefined : `${moment(at)} (${ago(at)})`}</Fact>
      <Fact name="Expires">{expiresAt === undefined ? undefined : moment(expiresAt)}</Fact>
      <Fact name="Came about">
        <CameAbout entry={entry} />
      </Fact>
      {may("accounts.audit") && (
        <Fact name="Log">
          <a href={linkTo("audit", { subject: memory.id })}>Changes by operators</a>
        </Fact>
      )}
      {entry.how === "extracted" && <Fact name="Confidence">{String(systemNumber(memory, "confidence") ?? 1)}</Fact>}
      {memory.feedback?.map(({ at: given, query, useful }) => (
        <Fact key={query ?? ""} name={useful ? "Of use" : "Not of use"}>
          {query !== undefined && <UserText of={`for “${query}”, `} />}
          {moment(given)}
        </Fact>
      ))}
      <Fact name="Mentions">{shownText(mentions.map(({ name }) => name).join(", "))}</Fact>
      <Fact name="Id">{memory.id}</Fact>
      <Fact name="Content hash">{systemText(memory, "contentHash")}</Fact>
    </dl>
  )
}

/** Nothing for a text that is not there. */
const shownText = (text: string | undefined) => (text === undefined || text === "" ? undefined : <UserText of={text} />)

const ways: Readonly<Record<HistoryEntry["how"], string>> = {
  stored: "stored as it is",
  extracted: "taken from messages",
  corrected: "corrected",
  restored: "restored from an older version"
}

/** What was done, by which key or by an operator, and when; who did it leads to what they did. */
const CameAbout = ({ entry: { at, by, how, memory } }: { readonly entry: HistoryEntry }) => {
  const isByKey = by !== undefined && by.startsWith("key_")
  const labels = useLoad((signal) => (isByKey ? keyLabels(signal) : Promise.resolve(undefined)), [isByKey]).loaded.value
  return (
    <>
      {ways[how]}
      {by !== undefined && (
        <>
          {" by "}
          {(isByKey ? !isBound() : may("accounts.audit")) ? (
            <a href={linkTo("audit", isByKey ? { show: "requests", caller: by } : { subject: memory.id })} title={by}>
              <UserText of={isByKey ? `the key ${labels?.get(by) || by}` : `the operator ${by}`} />
            </a>
          ) : (
            by
          )}
        </>
      )}
      , {moment(at)}
    </>
  )
}

const Versions = (given: {
  readonly versions: ReadonlyArray<HistoryEntry>
  readonly shown: string
  readonly onChanged: () => void
}) => {
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const restore = (older: Memory): void => {
    const of = account.value
    setBusy(true)
    showError(undefined)
    restoreVersion(older)
      .then(
        (memory) => {
          offerBefore("A version restored.", older, memory, {}, of)
          given.onChanged()
          if (parameters.value.get("id") === given.shown) change({ id: memory.id })
        },
        (cause: unknown) => showError(asApiError(cause))
      )
      .finally(() => setBusy(false))
  }
  return (
    <div class="stack">
      <h3>Versions, newest first</h3>
      {error !== undefined && <Refused error={error} />}
      <ol class="timeline">
        {given.versions.map((version) => {
          const { context, data, id } = version.memory
          return (
            <li key={id} class={context.isLatest ? "latest" : ""}>
              <button type="button" class="row-button" aria-current={id === given.shown} onClick={() => change({ id })}>
                <UserText of={summary(data)} />
              </button>
              <div class="small muted">
                <CameAbout entry={version} />{" "}
                {!context.isLatest && mayChange() && (
                  <button
                    type="button"
                    class="plain"
                    disabled={isBusy}
                    aria-label={`Restore ${summary(data)}`}
                    onClick={() => restore(version.memory)}
                  >
                    Restore
                  </button>
                )}
              </div>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

const Tags = ({ memory, onChanged }: { readonly memory: Memory; readonly onChanged: () => void }) => {
  const [text, setText] = useDraft(memory.context.tags.join(", "))
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const save = (event: Event): void => {
    event.preventDefault()
    const of = account.value
    changeTags(memory.id, tagsIn(text)).then(
      (tagged) => {
        showError(undefined)
        offerBefore("Tags changed.", memory, tagged, { tags: memory.context.tags }, of)
        onChanged()
      },
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <form class="stack" onSubmit={save}>
      <label>
        <span>Tags, separated by commas</span>
        <input value={text} dir="auto" onInput={({ currentTarget: { value } }) => setText(value)} />
      </label>
      {error !== undefined && <Refused error={error} />}
      {text !== memory.context.tags.join(", ") && (
        <div class="actions">
          <button type="submit" class="primary">
            Save tags
          </button>
        </div>
      )}
    </form>
  )
}

const messagesMax = 200

/** Sources of a memory: the messages, in their words, and a link to their thread. */
export const Sources = ({ entry: { how, memory } }: { readonly entry: HistoryEntry }) => {
  const ids = systemList(memory, "sourceMessageIds")
  const sources = sourcesOf(memory)
  const place = conversationOf(memory)
  const { loaded } = useLoad(
    async (signal) =>
      place.threadId === undefined
        ? []
        : (await allOf({ ...place, include: "messages", order: "asc" }, messagesMax, signal)).memories.filter(
            (message) => sourcesOf(message).some((source) => sources.includes(source))
          ),
    [memory.id]
  )
  return (
    <div class="stack tight">
      <h3>{how === "extracted" ? "Taken from" : "What it was taken from before that"}</h3>
      <Show of={loaded}>
        {(messages) =>
          messages.length === 0 ? (
            <p class="small muted">
              {ids.length === 1 ? "Message" : "Messages"} {ids.join(", ")}, of which no text is kept.
            </p>
          ) : (
            <>
              {messages.map((message) => (
                <Quote key={message.id} message={message} />
              ))}
            </>
          )
        }
      </Show>
      {place.threadId !== undefined && (
        <p class="small">
          <a href={linkTo("conversations", place)}>The whole conversation</a>
        </p>
      )}
    </div>
  )
}

const Quote = ({ message: { context, data } }: { readonly message: Memory }) => (
  <blockquote>
    <p dir="auto">{seen(String(data["text"] ?? ""))}</p>
    <footer class="small muted">
      <UserText of={String(data["name"] ?? data["role"] ?? "")} />
      {context.when !== undefined && `, ${moment(Date.parse(context.when))}`}
    </footer>
  </blockquote>
)

/** The question that was asked last: whoever then looks for the memory that it did not find need not type it again. */
export const lastQuestion = signal("")
/** Of this account, and by whoever is signed in. */
effect(() => {
  void account.value
  void session.value
  lastQuestion.value = ""
})
