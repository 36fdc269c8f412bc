/**
 * One open namespace whose commits go to the log first: its file is a copy that follows.
 *
 * Invariants: what is acknowledged is synced in the log. An insertion is acknowledged then, and answered for by the
 * overlay until the copy has it; replacements, removals, conversations and all with sources wait for the copy, so that
 * `Conversations` and the erasure marks read the file alone. Whoever needs more of the file than single rows waits until
 * it has followed.
 */
import { Effect } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { Condition } from "@muniment/domain/Where"
import type { CommandChanges, StoredRecord, StoredResult } from "../Commit.ts"
import type { Conversations, ConversationScope } from "../Conversations.ts"
import type { NamespaceKey, OpenNamespace, Postings, SlotRange, StoredSegments } from "../NamespaceStore.ts"
import type { NamespaceFile } from "../sqlite/NamespaceFile.ts"
import type { StoreError } from "../StoreError.ts"
import { encodeCommit } from "../sqlite/commitBody.ts"
import { type CopiedLog, type CopyLine, logged } from "./CopyLine.ts"
import { insertsOnly } from "./Overlay.ts"

export class LoggedNamespace implements OpenNamespace {
  readonly key: NamespaceKey
  readonly lastSeq: number
  readonly postings: Postings
  readonly conversations: Conversations
  readonly segments: StoredSegments
  readonly snapshotPath: string
  readonly #file: NamespaceFile
  readonly #log: CopiedLog
  readonly #line: CopyLine
  readonly #epochSeen: number
  /** That of the next commit: the first one claims the epoch after the one that was seen. */
  #epoch: number

  constructor(file: NamespaceFile, log: CopiedLog, line: CopyLine) {
    this.#file = file
    this.#log = log
    this.#line = line
    this.key = file.key
    this.lastSeq = file.lastSeq
    this.snapshotPath = file.snapshotPath
    this.#epochSeen = line.content.epoch
    this.#epoch = this.#epochSeen
    this.postings = postingsOver(file.postings, line)
    this.conversations = file.conversations
    this.segments = segmentsOver(file.segments, line)
  }

  bytes(): number {
    return this.#line.content.bytes + this.#line.overlay.bytes
  }

  commit(
    expectedSeq: number,
    group: ReadonlyArray<CommandChanges>,
    atMillis: number
  ): Effect.Effect<number, StoreError> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#line.whenNear
      const isClaim = this.#epoch === this.#epochSeen
      const isInsertion = insertsOnly(group) && (yield* this.#isNew(group))
      const changes = group.reduce((sum, unit) => sum + unit.changes.length, 0)
      const key = isClaim ? this.key : undefined
      const entry = yield* logged(
        this.#log.append({
          tag: this.key.tag,
          epoch: this.#epoch,
          fromSeq: expectedSeq,
          changes,
          isClaim,
          atMillis,
          isErasure: group.every(onlyFrees),
          body: encodeCommit({ group, key, erases: !isInsertion })
        })
      )
      this.#epoch = this.#epochSeen + 1
      yield* logged(this.#log.whenSynced(entry.ordinal))
      // An owner that was replaced learns it from the file, so the claim is not answered before the file has it.
      const mayFollow = isInsertion && !isClaim && !this.#log.isTight()
      if (mayFollow) this.#line.hold(entry, group)
      else yield* Effect.onError(this.#line.follow(entry, group), () => this.#stepBack)
      return expectedSeq + changes
    })
  }

  /** The file is damaged: nothing is erased from the log any more, from which it can be made again. */
  keepLog(): void {
    this.#line.keepLog()
  }

  storedResult(idempotencyKey: string, sinceMillis?: number): Effect.Effect<StoredResult | undefined, StoreError> {
    return Effect.suspend(() => {
      const held = this.#line.overlay.result(idempotencyKey)
      return held === undefined ? this.#file.storedResult(idempotencyKey, sinceMillis) : Effect.succeed(held)
    })
  }

  record(slot: number): Effect.Effect<MemoryRecord | undefined, StoreError> {
    return Effect.suspend(() => {
      const held = this.#line.overlay.record(slot)
      return held === undefined ? this.#noticing(this.#file.record(slot)) : Effect.succeed(held)
    })
  }

  records(slots: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<StoredRecord>, StoreError> {
    return Effect.suspend(() => {
      const { overlay } = this.#line
      if (overlay.isEmpty) return this.#noticing(this.#file.records(slots))
      const stored = this.#noticing(this.#file.records(slots.filter((slot) => overlay.record(slot) === undefined)))
      return Effect.map(stored, (found) => overlay.records(slots, found))
    })
  }

  slotsOfData(range: SlotRange, wanted: Condition): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return Effect.suspend(() => {
      const held = this.#line.overlay.slotsIn(range)
      const stored = this.#noticing(this.#file.slotsOfData(range, wanted))
      return held.length === 0 ? stored : Effect.map(stored, (found) => [...new Set([...found, ...held])])
    })
  }

  slotOf(id: string): Effect.Effect<number | undefined, StoreError> {
    return Effect.suspend(() => {
      const held = this.#line.overlay.slotOf(id)
      return held === undefined ? this.#noticing(this.#file.slotOf(id)) : Effect.succeed(held)
    })
  }

  slotsOfContent(contentHash: string, subjectId: string | undefined): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return Effect.map(this.#file.slotsOfContent(contentHash, subjectId), (stored) =>
      this.#line.overlay.slotsOfContent(contentHash, subjectId, stored)
    )
  }

  /** Memories with sources wait for the copy, so it has them. */
  slotsTakenFrom(
    scope: ConversationScope | undefined,
    keys: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return this.#file.slotsTakenFrom(scope, keys)
  }

  /** Reads of the copy once it has followed; writes of housekeeping too. */
  whole<A>(use: (file: NamespaceFile) => Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> {
    return Effect.andThen(this.#line.followAll, this.#noticing(use(this.#file)))
  }

  /** What else changes a conversation waits for the copy, so reads of them need not. */
  sweepConversations(nowMillis: number): Effect.Effect<number, StoreError> {
    return Effect.andThen(this.#line.noteErasure, this.#file.conversations.sweep(nowMillis))
  }

  get discardCopies(): Effect.Effect<void, StoreError> {
    return this.#file.discardCopies
  }

  /** `TRUNCATE` also erases from the log what commits have removed or replaced. */
  checkpoint(mode: "PASSIVE" | "TRUNCATE"): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#line.followAll
      const { ordinal } = this.#line.content
      yield* this.#file.checkpoint(mode)
      if (mode === "TRUNCATE") yield* this.#line.eraseLog(ordinal)
    })
  }

  /** The log still has what was removed or replaced. */
  get isErasureDue(): boolean {
    return this.#line.content.erasureDue > 0
  }

  /** Until the file has all that was committed; its last record. */
  get followed(): Effect.Effect<number, StoreError> {
    return Effect.map(this.#line.followAll, () => this.#line.content.ordinal)
  }

  /** Until the file itself has it, without SQLite's log; its last record. */
  get settled(): Effect.Effect<number, StoreError> {
    return Effect.tap(this.followed, () => this.#file.emptyLog)
  }

  #noticing<A>(read: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> {
    return Effect.tapError(read, ({ _tag }) =>
      Effect.sync(() => (_tag === "StoreDamaged" ? this.keepLog() : undefined))
    )
  }

  /** After a commit that the file refuses: the owner may have claimed nothing. */
  get #stepBack(): Effect.Effect<void> {
    return Effect.sync(() => {
      this.#epoch = this.#line.content.epoch
    })
  }

  #isNew(group: ReadonlyArray<CommandChanges>): Effect.Effect<boolean, StoreError> {
    return Effect.gen({ self: this }, function* () {
      for (const { changes, idempotency } of group) {
        for (const change of changes)
          if (change._tag === "Put" && (yield* this.slotOf(change.record.id)) !== undefined) return false
        if (idempotency !== undefined && (yield* this.storedResult(idempotency.key)) !== undefined) return false
      }
      return true
    })
  }
}

/** Removals and what goes with them; a full disk accepts these. */
const onlyFrees = ({ changes, conversation }: CommandChanges): boolean =>
  conversation?._tag !== "Advance" && changes.every(({ _tag }) => freeing.has(_tag))

const freeing: ReadonlySet<string> = new Set(["Remove", "RemovePassage", "Surround"])

const postingsOver = (stored: Postings, { overlay }: CopyLine): Postings => ({
  occurrences: (term) => overlay.occurrences(term, stored.occurrences(term)),
  hasPrefix: (prefix) => overlay.hasPrefix(prefix) || stored.hasPrefix(prefix),
  forEachLength: (visit) => {
    const lengths = new Map(overlay.lengths())
    if (lengths.size === 0) return stored.forEachLength(visit)
    stored.forEachLength((slot, tokens) => lengths.set(slot, tokens))
    for (const [slot, tokens] of [...lengths].toSorted(([left], [right]) => left - right)) visit(slot, tokens)
  }
})

const segmentsOver = (stored: StoredSegments, line: CopyLine): StoredSegments => ({
  soleModel: Effect.andThen(line.followAll, stored.soleModel),
  stored: stored.stored,
  read: (segment, model) => stored.read(segment, model),
  slots: (segment, model) => Effect.andThen(line.followAll, stored.slots(segment, model)),
  save: (seq, segment, model, data) => Effect.andThen(line.followAll, stored.save(seq, segment, model, data)),
  discard: (segments) => stored.discard(segments)
})
