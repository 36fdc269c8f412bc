/**
 * What callers of one namespace may see. A write whose outcome nobody was told may have happened or not, until somebody
 * has seen which; an acknowledged one must be there, once, and what was deleted stays deleted.
 */

/** A text, or nothing. */
export type State = string | undefined

/** One write of a caller, with all its repetitions under one key. */
export interface Write {
  readonly key: string
  readonly kind: "create" | "replace" | "remove"
  /** The memory it changes; of a creation, the one that the reply named. */
  id: string | undefined
  readonly text: string
  readonly expiresAt: number | undefined
  /** Ids that its copies offered, one each. */
  readonly offered: Array<string>
  /** Copies that may still be carried out. */
  copies: number
  tries: number
  isAcknowledged: boolean
}

interface Known {
  states: Array<State>
  readonly expiresAt: number | undefined
  readonly createdAt: number
  /** A write that is not over holds it. */
  isHeld: boolean
}

export class Model {
  readonly #memories = new Map<string, Known>()
  readonly #creations = new Map<string, Write>()
  readonly #createdAt = new Map<string, number>()
  /** Texts of memories that are known. */
  readonly #written = new Set<string>()

  /** Memories that a new write may change: those there for certain. */
  get free(): ReadonlyArray<string> {
    return [...this.#memories]
      .filter(([, one]) => !one.isHeld && one.expiresAt === undefined && one.states.length === 1)
      .flatMap(([id, { states }]) => (states[0] === undefined ? [] : id))
  }

  begin(write: Write): void {
    if (write.kind === "create") this.#creations.set(write.key, write)
    const known = write.id === undefined ? undefined : this.#memories.get(write.id)
    if (known === undefined) return
    known.isHeld = true
    known.states = [...known.states, write.kind === "remove" ? undefined : write.text]
  }

  /** A copy of a creation reaches the service with this id. */
  offer(write: Write, id: string, atMillis: number): void {
    write.offered.push(id)
    this.#createdAt.set(id, atMillis)
  }

  /** Memories whose ids only the service chose are known by their texts. */
  recognise(seen: ReadonlyMap<string, string>, atMillis: number): void {
    const byText = new Map([...this.#creations.values()].map((write) => [write.text, write]))
    for (const [id, text] of seen) {
      const write = this.#memories.has(id) ? undefined : byText.get(text)
      if (write !== undefined && !write.offered.includes(id)) this.offer(write, id, atMillis)
    }
  }

  /** Keys of creations without an answer that were seen to be done. */
  get recognised(): ReadonlyArray<string> {
    return [...this.#creations.values()].flatMap(({ key, offered }) => (offered.length > 0 ? key : []))
  }

  /** The caller is told that it was stored. Returns what is wrong with the reply. */
  acknowledge(write: Write, reply: { readonly id: string | undefined; readonly count: number }): string | undefined {
    if (write.kind === "remove" && reply.count !== 1)
      return `the removal ${write.key} of a stored memory counts ${reply.count}`
    if (write.isAcknowledged) {
      const isOther = write.kind === "create" && reply.id !== undefined && reply.id !== write.id
      return isOther ? `a repetition of ${write.key} is answered with another memory` : undefined
    }
    write.isAcknowledged = true
    if (write.kind !== "create") {
      const known = this.#memories.get(write.id ?? "")
      if (known !== undefined) known.states = [write.kind === "remove" ? undefined : write.text]
      if (write.kind === "replace") this.#written.add(write.text)
      return undefined
    }
    const isExpired = reply.id === undefined && write.expiresAt !== undefined
    if (isExpired) return undefined
    if (reply.id === undefined || !write.offered.includes(reply.id))
      return `the creation ${write.key} is answered with a memory that was not offered`
    write.id = reply.id
    this.#admit(write)
    return undefined
  }

  /** No copy of it can be carried out any more. */
  end(write: Write): void {
    const known = write.id === undefined ? undefined : this.#memories.get(write.id)
    if (known !== undefined) known.isHeld = false
  }

  /** Everything created before then may go, and has gone if `isCertain`. */
  purge(beforeMillis: number, isCertain: boolean): void {
    for (const known of this.#memories.values()) {
      if (known.createdAt >= beforeMillis) continue
      known.states = isCertain ? [undefined] : [...known.states, undefined]
    }
  }

  /** Texts that were removed, replaced or purged for certain. */
  get goneTexts(): ReadonlyArray<string> {
    const shown = new Set([...this.#memories.values()].flatMap(({ states }) => states))
    return [...this.#written].filter((text) => !shown.has(text))
  }

  /** What the namespace may show now; take it before the read begins. */
  expectation(): (seen: ReadonlyMap<string, string>, fromMillis: number, toMillis: number) => ReadonlyArray<string> {
    const before = new Map([...this.#memories].map(([id, { states }]) => [id, [...states]]))
    const creations = [...this.#creations.values()].filter(({ isAcknowledged }) => !isAcknowledged)
    return (seen, fromMillis, toMillis) => {
      const allowed = new Map<string, ReadonlyArray<State>>()
      for (const [id, states] of before)
        allowed.set(id, this.#atTimes(states, this.#memories.get(id)?.expiresAt, fromMillis, toMillis))
      const faults = [...allowed].flatMap(([id, states]) =>
        states.includes(seen.get(id)) ? [] : `${id} shows ${seen.get(id)}, allowed: ${states.join(" or ")}`
      )
      const open = new Map<string, Write>()
      for (const write of creations) {
        const shown = write.offered.filter((id) => seen.has(id))
        if (shown.length > 1) faults.push(`the creation ${write.key} is there ${shown.length} times`)
        for (const id of shown) open.set(id, write)
      }
      for (const [id, text] of seen)
        if (!allowed.has(id) && open.get(id)?.text !== text)
          faults.push(`${id} shows ${text}, and nobody wrote it here`)
      return faults
    }
  }

  /** What was seen stays: nothing that could change these is under way. */
  learn(seen: ReadonlyMap<string, string>, nowMillis: number): void {
    for (const [id, known] of this.#memories) {
      const isOver = known.expiresAt !== undefined && known.expiresAt <= nowMillis
      if (!known.isHeld && !isOver) known.states = [seen.get(id)]
    }
  }

  #atTimes(
    states: ReadonlyArray<State>,
    expiresAt: number | undefined,
    from: number,
    to: number
  ): ReadonlyArray<State> {
    if (expiresAt === undefined || expiresAt > to) return states
    return expiresAt <= from ? [undefined] : [...states, undefined]
  }

  #admit(write: Write): void {
    const { expiresAt, id = "", text } = write
    this.#creations.delete(write.key)
    const createdAt = this.#createdAt.get(id) ?? 0
    this.#written.add(text)
    this.#memories.set(id, { states: [text], expiresAt, createdAt, isHeld: write.copies > 0 })
  }
}
