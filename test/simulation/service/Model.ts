/**
 * Model of what callers of one namespace may see. A write whose outcome nobody was told may have happened or not, until
 * somebody has seen which; an acknowledged one must be there, once, and what was deleted stays deleted. A repetition
 * later than `Limits.idempotencyRetentionMillis` after the write may be carried out again; an earlier one never.
 */
import { Limits } from "@muniment/domain/Limits"

/** A text, or nothing. */
export type State = string | undefined

/** One copy of a creation, with the id that it offers. */
export interface Offer {
  readonly id: string
  /** It is carried out between these times, if at all; without `until`, it may still be. */
  readonly from: number
  until: number | undefined
}

/** One write of a caller, with all its repetitions under one key. */
export interface Write {
  readonly key: string
  readonly kind: "create" | "replace" | "remove"
  /** The memory that it changes; of a creation, the latest one known. */
  id: string | undefined
  readonly text: string
  readonly expiresAt: number | undefined
  /** When its first copy reached the service. */
  deliveredAt: number | undefined
  /** Of its copies, one each. */
  readonly offered: Array<Offer>
  /** Those of them that were carried out for certain. */
  readonly done: Array<Offer>
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
  /** The service may remove it by itself, at any time. */
  mayGo: boolean
}

export class Model {
  readonly #memories = new Map<string, Known>()
  readonly #creations = new Map<string, Write>()
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

  /** A copy reaches the service; one of a creation, with this id. */
  deliver(write: Write, id: string | undefined, atMillis: number): Offer | undefined {
    write.deliveredAt ??= atMillis
    if (id === undefined) return undefined
    const offer = { id, from: atMillis, until: undefined }
    write.offered.push(offer)
    return offer
  }

  /** The process ends: what is not done by then is not done by this one. */
  crash(atMillis: number): void {
    for (const { offered } of this.#creations.values()) for (const offer of offered) offer.until ??= atMillis
  }

  /** Memories whose ids only the service chose are known by their texts. */
  recognise(seen: ReadonlyMap<string, string>, atMillis: number): void {
    const byText = new Map([...this.#creations.values()].map((write) => [write.text, write]))
    for (const [id, text] of seen) {
      const write = this.#memories.has(id) ? undefined : byText.get(text)
      if (write !== undefined && !write.offered.some((offer) => offer.id === id))
        write.offered.push({ id, from: write.deliveredAt ?? atMillis, until: atMillis })
    }
  }

  /** Keys of creations that were seen to be done. */
  get recognised(): ReadonlyArray<string> {
    return [...this.#creations.values()].flatMap(({ done, key }) => (done.length > 0 ? key : []))
  }

  /** The caller is told that it was stored. Returns what is wrong with the reply. */
  acknowledge(
    write: Write,
    reply: { readonly id: string | undefined; readonly count: number },
    atMillis: number
  ): string | undefined {
    const mayBeRepeated = isForgotten(write.deliveredAt ?? atMillis, atMillis)
    if (write.kind === "remove" && reply.count !== 1 && !mayBeRepeated)
      return `the removal ${write.key} of a stored memory counts ${reply.count}`
    const isFirst = !write.isAcknowledged
    write.isAcknowledged = true
    if (write.kind === "create") return this.#acknowledgeCreation(write, reply.id, atMillis)
    const known = this.#memories.get(write.id ?? "")
    if (known !== undefined && isFirst) known.states = [write.kind === "remove" ? undefined : write.text]
    if (write.kind === "replace") this.#written.add(write.text)
    return undefined
  }

  /** No copy of it can be carried out any more. */
  end(write: Write): void {
    for (const id of [write.id, ...write.done.map((offer) => offer.id)]) {
      const known = this.#memories.get(id ?? "")
      if (known !== undefined) known.isHeld = false
    }
  }

  /** Everything created before then may go, and has gone if `isCertain`. */
  purge(beforeMillis: number, isCertain: boolean): void {
    if (isCertain)
      for (const { done, offered } of this.#creations.values())
        offered.splice(0, Infinity, ...offered.filter((offer) => done.includes(offer) || offer.from >= beforeMillis))
    for (const known of this.#memories.values()) {
      if (known.createdAt >= beforeMillis) continue
      known.states = isCertain ? [undefined] : [...known.states, undefined]
    }
  }

  /** From now on the service may remove by itself what was created before then, whatever is seen, and nothing else. */
  letGo(beforeMillis: number): void {
    for (const known of this.#memories.values()) {
      known.mayGo = known.createdAt < beforeMillis
      if (known.mayGo) known.states = [...known.states, undefined]
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
    const creations = [...this.#creations.values()]
    return (seen, fromMillis, toMillis) => {
      const allowed = new Map<string, ReadonlyArray<State>>()
      for (const [id, states] of before)
        allowed.set(id, atTimes(states, this.#memories.get(id)?.expiresAt, fromMillis, toMillis))
      for (const { expiresAt, offered, text } of creations)
        for (const { id } of offered)
          if (!before.has(id)) allowed.set(id, atTimes([text, undefined], expiresAt, fromMillis, toMillis))
      const faults = [...allowed].flatMap(([id, states]) =>
        states.includes(seen.get(id)) ? [] : `${id} shows ${seen.get(id)}, allowed: ${states.join(" or ")}`
      )
      for (const write of creations) {
        const shown = write.offered.filter(({ id }) => seen.has(id) && !write.done.some((one) => one.id === id))
        const times = [...write.done, ...shown]
        if (shown.some((offer) => isTooMany(offer, times, toMillis)))
          faults.push(`the creation ${write.key} is there ${times.length} times`)
      }
      for (const [id, text] of seen) if (!allowed.has(id)) faults.push(`${id} shows ${text}, and nobody wrote it here`)
      return faults
    }
  }

  /** What was seen is there; if nothing is under way that could change these (`isQuiet`), nothing else is. */
  learn(seen: ReadonlyMap<string, string>, nowMillis: number, isQuiet: boolean): void {
    for (const write of this.#creations.values()) {
      for (const offer of write.offered) if (seen.has(offer.id)) this.#admit(write, offer)
      if (isQuiet && write.copies === 0) write.offered.splice(0, Infinity, ...write.done)
    }
    if (!isQuiet) return
    for (const [id, known] of this.#memories) {
      const isOver = known.expiresAt !== undefined && known.expiresAt <= nowMillis
      const state = seen.get(id)
      if (!known.isHeld && !isOver) known.states = known.mayGo && state !== undefined ? [state, undefined] : [state]
    }
  }

  #acknowledgeCreation(write: Write, id: string | undefined, atMillis: number): string | undefined {
    if (id === undefined && write.expiresAt !== undefined) return undefined
    const offer = write.offered.find((one) => one.id === id)
    if (offer === undefined) return `the creation ${write.key} is answered with a memory that was not offered`
    if (isTooMany(offer, write.done, atMillis)) return `a repetition of ${write.key} is answered with another memory`
    this.#admit(write, offer)
    return undefined
  }

  #admit(write: Write, offer: Offer): void {
    if (write.done.includes(offer)) return
    const { expiresAt, text } = write
    write.done.push(offer)
    write.id = offer.id
    this.#written.add(text)
    this.#memories.set(offer.id, {
      states: [text],
      expiresAt,
      createdAt: offer.from,
      isHeld: write.copies > 0,
      mayGo: false
    })
  }
}

/** Whether a result stored at the one time may be forgotten at the other. */
const isForgotten = (atMillis: number, nowMillis: number): boolean =>
  nowMillis - atMillis > Limits.idempotencyRetentionMillis

/** Whether one of the others was done so close to it that its result must have been known. */
const isTooMany = (offer: Offer, others: ReadonlyArray<Offer>, nowMillis: number): boolean =>
  others.some(
    (other) =>
      other.id !== offer.id &&
      !isForgotten(other.from, offer.until ?? nowMillis) &&
      !isForgotten(offer.from, other.until ?? nowMillis)
  )

const atTimes = (
  states: ReadonlyArray<State>,
  expiresAt: number | undefined,
  from: number,
  to: number
): ReadonlyArray<State> => {
  if (expiresAt === undefined || expiresAt > to) return states
  return expiresAt <= from ? [undefined] : [...states, undefined]
}
