/**
 * Port of the commit log: one append-only log takes the commits of all namespaces of the process. A commit is
 * acknowledged once it is synced there; the namespaces' files are copies that follow.
 *
 * Invariants: ordinals ascend without gaps, in the order of `append`; `whenSynced` succeeds only for what a power cut
 * leaves; a copy may apply what is synced and nothing later; an append that is fenced or refused for lack of room
 * writes nothing; after a `LogFault` the log has ended, and every outcome that was not told is unknown.
 */
import { Context, type Effect } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { LoggedChange, NewLoggedChange, RawRecord } from "./LogCursor.ts"
import type { LogDamaged, LogError, LogFault, LogFenced, LogFull } from "./LogError.ts"
import type { RecordBody } from "./logFormat.ts"

/** One commit of one namespace. */
export interface NewCommit {
  readonly tag: NamespaceTag
  /** The epoch that the owner had before this commit, and the last change before it. */
  readonly epoch: number
  readonly fromSeq: number
  /** How many numbers the commit takes: its last change is `fromSeq + changes`. */
  readonly changes: number
  /** First commit of an owner: takes the next epoch. */
  readonly isClaim: boolean
  readonly atMillis: number
  /** Only frees space or erases: is accepted while a full disk refuses others. */
  readonly isErasure: boolean
  readonly body: RecordBody
}

/** Where a record lies: the file `<12 digits>.log` of the log's directory, bytes `offset` to `offset + length`. */
export interface RecordPlace {
  readonly segment: number
  readonly offset: number
  readonly length: number
}

/** A record of the log by its place; `RecordReader` reads it there, in any thread, once it is synced. */
export interface LogEntry {
  readonly ordinal: number
  readonly place: RecordPlace
}

/** What a copy holds. */
export interface CopyState {
  readonly epoch: number
  readonly seq: number
}

/**
 * The part of the log that serves one namespace at a time, which a log in files of this machine and a log that several
 * machines share have in common. A namespace's ordinals ascend in the order of its appends; `tail` has what
 * `whenSynced` has confirmed, and no commit of an owner that was replaced.
 */
export interface NamespaceLog<Entry extends { readonly ordinal: number }> {
  /**
   * Tells the log what the copy of a namespace holds after it has followed. Appends are compared with it; a log that
   * already knows the namespace keeps what it knows.
   */
  readonly attach: (tag: NamespaceTag, state: CopyState) => Effect.Effect<void>
  /** Ends the comparison, once the copy of a closed namespace holds all of its commits. */
  readonly release: (tag: NamespaceTag) => Effect.Effect<void>
  /**
   * Gives the record its ordinal. Durable when `whenSynced` says so. One append of a namespace at a time: the next one
   * waits for it.
   */
  readonly append: (commit: NewCommit) => Effect.Effect<Entry, LogError>
  /** Succeeds when everything up to `ordinal` is durable. */
  readonly whenSynced: (ordinal: number) => Effect.Effect<void, LogFault>
  /**
   * Durable commits of the namespace behind `afterOrdinal`, oldest first, without those that were refused. Fails if one
   * of them is damaged, or erased: then only a base or an archive has it.
   */
  readonly tail: (tag: NamespaceTag, afterOrdinal: number) => Effect.Effect<ReadonlyArray<Entry>, LogDamaged | LogFault>
  /** Notes that a copy cannot carry out this commit: no replay tries it again. Durable when it returns. */
  readonly refuse: (tag: NamespaceTag, ordinal: number, atMillis: number) => Effect.Effect<void, LogError>
  /**
   * Takes the bodies of the namespace's commits up to `throughOrdinal` out of the log; returns how many. The copy or a
   * base must hold them durably.
   */
  readonly erase: (tag: NamespaceTag, throughOrdinal: number, atMillis: number) => Effect.Effect<number, LogError>
  /** Forgets a namespace that is erased as a whole: no `tail` has its commits again. */
  readonly remove: (tag: NamespaceTag, atMillis: number) => Effect.Effect<void, LogError>
}

export interface CommitLogShape extends NamespaceLog<LogEntry> {
  /** Gives the record its place and ordinal; waits while too much is not synced. Not durable yet. */
  readonly append: (commit: NewCommit) => Effect.Effect<LogEntry, LogFenced | LogFull | LogFault>
  /**
   * A change of the control database, whose numbers the log does not check. It does not begin a sync: it is on the disk
   * with the next one, 10 ms later at the latest unless the disk fails.
   */
  readonly appendControl: (change: NewLoggedChange) => Effect.Effect<LogEntry, LogFull | LogFault>
  /** Changes of the control database behind a number, oldest first; all that are here by default, erased ones too. */
  readonly controlBehind: (number: number) => Effect.Effect<ReadonlyArray<LoggedChange>, LogDamaged>
  /** The newest change of the control database; undefined: none is here. */
  readonly newestControl: Effect.Effect<LoggedChange | undefined, LogDamaged>
  /** Last ordinal that is synced. */
  readonly syncedOrdinal: () => number
  /** Namespaces that have commits here. */
  readonly tags: Effect.Effect<ReadonlyArray<NamespaceTag>>
  /** Notes that a copy cannot carry out this commit: no replay tries it again. Durable when it returns. */
  readonly refuse: (tag: NamespaceTag, ordinal: number, atMillis: number) => Effect.Effect<void, LogFull | LogFault>
  /**
   * Overwrites the bodies of the namespace's commits up to `throughOrdinal` with zeros, in all segments; returns how
   * many. The copy must hold them durably. An erasure that was cut short is finished by the next open of the log.
   */
  readonly erase: (
    tag: NamespaceTag,
    throughOrdinal: number,
    atMillis: number
  ) => Effect.Effect<number, LogFull | LogFault>
  /** Forgets a namespace that is erased as a whole: its bodies become zeros, and no `tail` has its commits again. */
  readonly remove: (tag: NamespaceTag, atMillis: number) => Effect.Effect<void, LogFull | LogFault>
  /** Commits up to this ordinal were of a namespace whose removal is synced; 0: none. */
  readonly removedThrough: (tag: NamespaceTag) => number
  /** Tells that the copy holds everything up to `ordinal` durably, also after a power cut: the log need not keep it. */
  readonly rebase: (tag: NamespaceTag, ordinal: number) => Effect.Effect<void>
  /** Namespaces whose copies are not known to hold durably what old segments have: for them the log keeps these. */
  readonly holders: Effect.Effect<ReadonlyArray<NamespaceTag>>
  /** Deletes segments that are not needed any more; returns how many. */
  readonly dropUnneeded: Effect.Effect<number, LogFull | LogFault>
  /** Frees the room that is kept for later records, if erasures do not need it; true: there was some. */
  readonly giveUpSpare: Effect.Effect<boolean>
  /**
   * Whether so little room is left that a copy may find none: what a copy lacks is not acknowledged then, and segments
   * are not kept only to repair copies.
   */
  readonly isTight: () => boolean
  /**
   * Synced records of every kind from `fromOrdinal` on, oldest first, as bytes; what was dropped is missing. Reading on
   * throws `LogDamaged` at a record that is not whole.
   */
  readonly recordsFrom: (fromOrdinal: number) => Iterable<RawRecord>
  /** Keeps records from `fromOrdinal` on for a consumer, such as an archive; `Infinity` ends it. */
  readonly hold: (consumer: string, fromOrdinal: number) => Effect.Effect<void>
  /** Whether this process may still answer reads of what it claimed. */
  readonly isCurrent: () => boolean
}

/** Times in milliseconds. */
export interface LogStatus {
  readonly segments: number
  /** Of its records; each segment's file is as large as it may become. */
  readonly bytes: number
  readonly firstOrdinal: number
  readonly lastOrdinal: number
  readonly syncedOrdinal: number
  /** How many syncs this log has made since it was opened. */
  readonly syncs: number
  /** It takes records; otherwise its next use opens it anew. */
  readonly isCurrent: boolean
  /** Only what erases is accepted: there is no room for another segment. */
  readonly isFull: boolean
  /** Records that were synced and cannot be read: ordinals and place. */
  readonly damage: ReadonlyArray<string>
}

/** The log of the process. A log that an error has ended stays ended for those who hold it; `current` is the next one. */
export class CommitLog extends Context.Service<
  CommitLog,
  {
    readonly current: Effect.Effect<CommitLogShape, LogFault>
    readonly status: Effect.Effect<LogStatus>
  }
>()("muniment/engine/CommitLog") {}
