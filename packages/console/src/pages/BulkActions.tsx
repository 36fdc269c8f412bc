/** The chosen rows of the list of memories: how many, what can be done with them, and what that would touch. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import {
  changeAll,
  changeExpiryTo,
  type ChangeOf,
  changesOf,
  changeTagsBy,
  moveTo,
  movesTo,
  removeChosen,
  tagsIn
} from "../service/bulk.ts"
import { now } from "../service/browser.ts"
import type { Memory } from "../service/memories.ts"
import { account, linkTo } from "../service/route.ts"
import { changed, discard, offerOld, offerReturn } from "../service/undo.ts"
import { moment } from "../service/text.ts"
import { count, countOfMemories } from "../service/words.ts"
import { Confirm, FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { UserText } from "../ui/UserText.tsx"
import { type End, endNames, ends } from "./ends.ts"

interface Bulk {
  readonly chosen: ReadonlyArray<Memory>
  readonly onClose: () => void
  readonly onChanged: () => void
  /** Some of it may be done: the memories are about to be read anew, and the question stays with what was chosen. */
  readonly onRefused: () => void
}

const actions = {
  tag: ["Tag …", (given: Bulk) => <TagDialog {...given} />],
  expire: ["Expire …", (given: Bulk) => <ExpireDialog {...given} />],
  move: ["Move …", (given: Bulk) => <MoveDialog {...given} />],
  delete: ["Delete …", (given: Bulk) => <DeleteDialog {...given} />]
} as const
type Action = keyof typeof actions
const names = Object.keys(actions) as ReadonlyArray<Action>

export const BulkActions = (given: {
  readonly chosen: ReadonlyArray<Memory>
  /** Said beside them, such as how many could not be chosen. */
  readonly note: string
  readonly onClear: () => void
  readonly onChanged: () => void
  readonly onRefused: () => void
}) => {
  const [action, setAction] = useState<Action | undefined>(undefined)
  const { chosen } = given
  return (
    <section class="bulk" aria-label="Chosen memories">
      <strong role="status">{count(chosen.length)} chosen</strong>
      <div class="actions">
        {names.map((name) => (
          <button
            key={name}
            type="button"
            class={name === "delete" ? "danger" : undefined}
            disabled={chosen.length === 0}
            onClick={() => setAction(name)}
          >
            {actions[name][0]}
          </button>
        ))}
        <button type="button" class="plain" onClick={given.onClear}>
          Choose none
        </button>
      </div>
      {given.note !== "" && <p class="small muted">{given.note}</p>}
      {action !== undefined && actions[action][1]({ ...given, onClose: () => setAction(undefined) })}
    </section>
  )
}

const finished = (given: Bulk, work: Promise<void>): Promise<void> =>
  work.then(given.onChanged, (cause: unknown) => {
    given.onRefused()
    changed()
    throw cause
  })

/** Effect of an action before it is done. */
const Effect = ({ children }: { readonly children: ComponentChildren }) => (
  <p role="status" class="effect">
    {children}
  </p>
)

/** A change of fields in place: those that have it already are left alone. */
const ChangeDialog = (
  given: Bulk & {
    readonly title: string
    readonly action: string
    /** Undefined: nothing is asked for yet. */
    readonly changeOf: ChangeOf | undefined
    readonly effect: string
    readonly children: ComponentChildren
  }
) => {
  const changes = given.changeOf === undefined ? [] : changesOf(given.chosen, given.changeOf)
  const same = given.chosen.length - changes.length
  const of = account.value
  return (
    <FormDialog
      title={given.title}
      action={given.action}
      isReady={changes.length > 0}
      onClose={given.onClose}
      send={() =>
        finished(
          given,
          changeAll(changes).then(() => offerOld(changes, of))
        )
      }
    >
      {given.children}
      <Effect>
        {given.changeOf === undefined ? (
          "Nothing is changed yet."
        ) : (
          <>
            This changes {given.effect} of <strong>{countOfMemories(changes.length)}</strong>
            {same > 0 && `; ${count(same)} ${same === 1 ? "is" : "are"} so already`}.
          </>
        )}
      </Effect>
    </FormDialog>
  )
}

const TagDialog = (given: Bulk) => {
  const [added, setAdded] = useState("")
  const [removed, setRemoved] = useState("")
  const isGiven = tagsIn(added).length + tagsIn(removed).length > 0
  return (
    <ChangeDialog
      {...given}
      title="Tag the chosen memories"
      action="Change tags"
      effect="the tags"
      changeOf={isGiven ? changeTagsBy(tagsIn(added), tagsIn(removed)) : undefined}
    >
      <Input label="Tags to add, separated by commas" value={added} onValue={setAdded} hint="reviewed" />
      <Input label="Tags to take away, separated by commas" value={removed} onValue={setRemoved} />
      <TagCounts chosen={given.chosen} />
    </ChangeDialog>
  )
}

const countedTags = 8

const TagCounts = ({ chosen }: { readonly chosen: ReadonlyArray<Memory> }) => {
  const counts = new Map<string, number>()
  for (const { context } of chosen) for (const tag of context.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  if (counts.size === 0) return null
  return (
    <p class="small muted">
      Tags now:{" "}
      {[...counts]
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, countedTags)
        .map(([tag, memories]) => (
          <span key={tag} class="badge">
            <UserText of={tag} /> {count(memories)}
          </span>
        ))}
      {counts.size > countedTags && ` and ${count(counts.size - countedTags)} more`}
    </p>
  )
}

const ExpireDialog = (given: Bulk) => {
  const [end, setEnd] = useState<End>("month")
  const [openedAt] = useState(now)
  const [, millis] = ends[end]
  const expiresAt = millis === null ? null : openedAt + millis
  return (
    <ChangeDialog
      {...given}
      title="Let the chosen memories expire"
      action="Set the end"
      effect="the end"
      changeOf={changeExpiryTo(expiresAt)}
    >
      <Choice label="They end" value={end} options={endNames.map((name) => [name, ends[name][0]])} onValue={setEnd} />
      <p class="small muted">
        {expiresAt === null
          ? "They stay until they are deleted."
          : `From ${moment(expiresAt)} on no call finds them, and they leave the disk.`}
      </p>
    </ChangeDialog>
  )
}

const MoveDialog = (given: Bulk) => {
  const [subject, setSubject] = useState("")
  const to = subject.trim()
  const moved = to === "" ? [] : movesTo(given.chosen, to)
  const left = given.chosen.length - moved.length
  const of = account.value
  return (
    <FormDialog
      title="Move the chosen memories to another subject"
      action="Move"
      isReady={moved.length > 0}
      onClose={given.onClose}
      send={() =>
        finished(
          given,
          moveTo(moved, to).then((ids) => offerReturn(moved, ids, of))
        )
      }
    >
      <Input label="Subject that they are about" value={subject} onValue={setSubject} required />
      <p class="small muted">
        A moved memory is stored anew: it gets another id and the time of now, keeps data, tags, metadata and end, and
        loses older versions, feedback and the link to its messages. Of a kind with unique fields it takes the place of
        what the other subject has under the same ones.
      </p>
      <Effect>
        {to === "" ? (
          "Nothing is moved yet."
        ) : (
          <>
            This moves <strong>{countOfMemories(moved.length)}</strong> to <UserText of={to} />
            {left > 0 &&
              `; ${count(left)} ${left === 1 ? "stays" : "stay"}: messages, older versions, or there already`}
            .
          </>
        )}
      </Effect>
    </FormDialog>
  )
}

const DeleteDialog = (given: Bulk) => {
  const ids = given.chosen.map(({ id }) => id)
  return (
    <Confirm
      title="Delete the chosen memories"
      action="Delete"
      preview={() => removeChosen(ids, true)}
      describe={(deleted) => (
        <p>
          This deletes <strong>{countOfMemories(deleted)}</strong>
          {deleted > ids.length && `, ${count(deleted - ids.length)} of them older versions`}. This window keeps them in
          the <a href={linkTo("bin")}>bin</a> for an hour.
        </p>
      )}
      run={() => finished(given, discard(given.chosen))}
      onClose={given.onClose}
    />
  )
}
