/**
 * Commits that wait for their statement: a line for each namespace, of which only the first is under way.
 *
 * Invariant: a namespace's commits are taken in the order in which they came, one at a time.
 */
import { Effect, Queue, Random, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import type { LogFault } from "@muniment/engine/log/LogError"
import { Rounds } from "@muniment/worker/Rounds"
import { asked } from "./LogDatabase.ts"

interface Waiting {
  readonly tag: NamespaceTag
  readonly bytes: number
}

export class AppendLines<W extends Waiting> {
  /** The namespace that has waited longest first. */
  readonly #lines = new Map<NamespaceTag, Array<W>>()
  readonly #busy = new Set<NamespaceTag>()

  put(waiting: W): void {
    const line = this.#lines.get(waiting.tag)
    if (line === undefined) this.#lines.set(waiting.tag, [waiting])
    else line.push(waiting)
  }

  /** The first of each line that is not under way, up to these numbers; at least one if there is any. */
  take(countMax: number, bytesMax: number): ReadonlyArray<W> {
    const taken: Array<W> = []
    let bytes = 0
    for (const [tag, line] of this.#lines) {
      const [first] = line
      if (first === undefined || this.#busy.has(tag)) continue
      if (taken.length === countMax || (taken.length > 0 && bytes + first.bytes > bytesMax)) break
      taken.push(first)
      bytes += first.bytes
      this.#busy.add(tag)
    }
    for (const { tag } of taken) this.#shorten(tag)
    return taken
  }

  /** The statement has ended. */
  finish(batch: ReadonlyArray<W>): void {
    for (const { tag } of batch) this.#busy.delete(tag)
  }

  /** Takes a whole line away. */
  drop(tag: NamespaceTag): ReadonlyArray<W> {
    const line = this.#lines.get(tag) ?? []
    this.#lines.delete(tag)
    return line
  }

  /** Its next commit waits behind all that are waiting now. */
  #shorten(tag: NamespaceTag): void {
    const rest = this.#lines.get(tag)?.slice(1) ?? []
    this.#lines.delete(tag)
    if (rest.length > 0) this.#lines.set(tag, rest)
  }
}

/** After an attempt that failed. */
const againMillis = 500
/** Texts of one answer. */
const pageMax = 16

interface LeftText {
  readonly id: string
  readonly text: string
}

/**
 * What a node that lost `control.db` leaves for the next owner, in PostgreSQL: texts that only owners read. A text that is
 * left is written until the database has it, once, also while this node waits for its next turn as the owner.
 */
export class LeftTexts {
  readonly #node: string
  readonly #sql: SqlClient
  readonly #waiting: Queue.Queue<LeftText>

  private constructor(node: string, sql: SqlClient, waiting: Queue.Queue<LeftText>) {
    this.#node = node
    this.#sql = sql
    this.#waiting = waiting
  }

  /** Writes in the background until the scope closes. */
  static readonly open = Effect.fnUntraced(function* (
    node: string,
    sql: SqlClient
  ): Effect.fn.Return<LeftTexts, never, Scope.Scope> {
    const texts = new LeftTexts(node, sql, yield* Queue.bounded<LeftText>(Limits.leftTextsMax))
    yield* Rounds.each({
      name: "what this node leaves to others",
      take: Queue.take(texts.#waiting),
      work: (text) => texts.#write(text)
    })
    return texts
  })

  readonly leave = (text: string): Effect.Effect<void> =>
    Effect.flatMap(Random.nextInt, (unique) => {
      const id = `${this.#node}-${Math.abs(unique).toString(36)}`
      return Effect.asVoid(Queue.offer(this.#waiting, { id, text }))
    })

  /** Oldest first, a page of them. */
  get left(): Effect.Effect<ReadonlyArray<LeftText>, LogFault> {
    const sql = this.#sql
    return asked(sql<LeftText>`SELECT id, text FROM muniment_log.left_text ORDER BY at, id LIMIT ${pageMax}`)
  }

  forget(id: string): Effect.Effect<void, LogFault> {
    const sql = this.#sql
    return Effect.asVoid(asked(sql`DELETE FROM muniment_log.left_text WHERE id = ${id}`))
  }

  #write(left: LeftText): Effect.Effect<void> {
    const sql = this.#sql
    const written = sql`INSERT INTO muniment_log.left_text (id, text) VALUES (${left.id}, ${left.text})
      ON CONFLICT (id) DO NOTHING`
    return Effect.catch(Effect.asVoid(asked(written)), () => Effect.delay(this.#write(left), againMillis))
  }
}
