/**
 * The memories that should be stored: what to change next, what a search may return, how many there must be.
 * Everything is drawn from one seed.
 */
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"

export interface Member {
  readonly id: string
  readonly agentId: string
  readonly subjectId: string
  /** `state` memories are superseded by their key, the others are replaced by their id. */
  readonly kind: "note" | "state"
  /** The memory's subject: unique among the live ones. */
  readonly key: string
  readonly text: number
}

export class Population {
  readonly #members: Array<Member> = []
  readonly #place = new Map<string, number>()
  /** Texts that no memory holds, first in, first out. */
  readonly #spare: Array<number>
  #nextSpare = 0
  readonly #goneAt = new Map<string, number>()
  readonly #random: () => number
  #named = 0

  constructor(texts: number, seed: number) {
    this.#spare = Array.from({ length: texts }, (_, at) => at)
    this.#random = seededSequence(seed)
  }

  get size(): number {
    return this.#members.length
  }

  count(agentId: string): number {
    return this.#members.filter((member) => member.agentId === agentId).length
  }

  /** A whole number below `bound`. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  newKey(): string {
    return `subject ${this.#named++}`
  }

  takeText(): number {
    const text = this.#spare[this.#nextSpare]
    if (text === undefined) throw new Error("more texts are wanted than there are to spare")
    this.#nextSpare++
    if (this.#nextSpare > spareSlackMax) {
      this.#spare.splice(0, this.#nextSpare)
      this.#nextSpare = 0
    }
    return text
  }

  add(member: Member): void {
    this.#place.set(member.id, this.#members.length)
    this.#members.push(member)
  }

  /** A random member of the kind, taken out so that two writers never change the same one. */
  draw(kind: Member["kind"]): Member {
    for (let attempt = 0; attempt < drawAttemptsMax; attempt++) {
      const member = this.#members[this.below(this.#members.length)]
      if (member?.kind !== kind) continue
      this.#remove(member.id)
      return member
    }
    throw new Error(`there is no ${kind} left`)
  }

  /** Frees its text; from now on no search may return it. */
  retire({ id, text }: Member, nowMillis: number): void {
    this.#spare.push(text)
    this.#goneAt.set(id, nowMillis)
  }

  freeText(text: number): void {
    this.#spare.push(text)
  }

  /** True for a memory that was gone before the search began. */
  isStale(id: string, askedMillis: number): boolean {
    const goneAt = this.#goneAt.get(id)
    return goneAt !== undefined && goneAt < askedMillis
  }

  #remove(id: string): void {
    const at = this.#place.get(id)!
    const last = this.#members.pop()!
    this.#place.delete(id)
    if (last.id === id) return
    this.#members[at] = last
    this.#place.set(last.id, at)
  }
}

const spareSlackMax = 10_000
const drawAttemptsMax = 10_000
