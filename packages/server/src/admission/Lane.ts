/**
 * One kind of work: a request begins at once while there is room, else it waits for its account's turn, and it is
 * refused when its turn would come too late. Time comes in as an argument: no timer, no clock.
 *
 * Invariants:
 * - While something waits, all places are taken.
 * - Beside them, spare places begin at once what calm accounts ask that have nothing waiting and less in work.
 * - What waited longer than `Limits.queueWaitMillisMax` is never begun: its caller has given up, or soon will.
 */
import { Limits } from "@muniment/domain/Limits"
import type { Refusal } from "./Refusals.ts"
import { WorkLimit } from "./WorkLimit.ts"

export interface Visit extends Waiting {
  /** Its account asks only now and then (`WorkKind.ts`). */
  readonly isCalm?: boolean
  /** `isAtOnce`: it has not waited. */
  readonly begin: (isAtOnce: boolean) => void
  readonly refuse: (refusal: Refusal) => void
}

/** Beyond the limit, by the limit and at least: requests that each take longer, as many at once, are more in work. */
const spareShare = 0.5
const sparePlacesMin = 4

export interface LaneState {
  readonly inWork: number
  readonly limit: number
  readonly waiting: number
  /** Wait that a request of an account without others waiting can expect. */
  readonly waitMillis: number
}

export interface LaneOptions {
  readonly limit?: WorkLimit
  /** The longest expected wait; half as long again may a request really wait. */
  readonly queueWaitMillis?: number | undefined
}

export class Lane {
  readonly name: string
  readonly #queue = new FairQueue<Visit>()
  readonly #limit: WorkLimit
  readonly #expectedMillisMax: number
  readonly #waitedMillisMax: number
  /** Visits in work, and since when. */
  readonly #begun = new Map<Visit, number>()
  readonly #arrived = new Map<Visit, number>()
  /** Visits in spare places. */
  readonly #spare = new Set<Visit>()

  constructor(name: string, { limit = new WorkLimit(), queueWaitMillis = Limits.queueWaitMillis }: LaneOptions = {}) {
    this.name = name
    this.#limit = limit
    this.#expectedMillisMax = queueWaitMillis
    this.#waitedMillisMax = (queueWaitMillis * Limits.queueWaitMillisMax) / Limits.queueWaitMillis
  }

  /** Whether a request would begin at once. */
  get hasPlace(): boolean {
    return this.#queue.size === 0 && this.#limit.hasRoom
  }

  /** Units of work that are done a second under full load. */
  get perSecond(): number {
    return this.#limit.perSecond
  }

  get state(): LaneState {
    const { inWork, limit } = this.#limit
    return { inWork, limit, waiting: this.#queue.size, waitMillis: this.#limit.waitMillis(this.#queue.accounts) }
  }

  /** Refusal of a request that comes now; undefined: it would begin or wait. */
  refusalOf({ account }: Pick<Visit, "account">): Refusal | undefined {
    if (this.hasPlace) return undefined
    const waitMillis = this.#limit.waitMillis(this.#queue.ahead(account))
    return waitMillis > this.#expectedMillisMax ? this.#refusal({ account }, waitMillis) : undefined
  }

  enter(visit: Visit, nowMillis: number): void {
    if (this.hasPlace) return this.#begin(visit, nowMillis, true)
    if (this.#hasSparePlace(visit)) {
      this.#spare.add(visit)
      return this.#begin(visit, nowMillis, true)
    }
    const refusal = this.refusalOf(visit)
    if (refusal !== undefined) return visit.refuse(refusal)
    this.#arrived.set(visit, nowMillis)
    this.#queue.add(visit)
  }

  /** The work has ended. `isDone` is false if it was abandoned. */
  leave(visit: Visit, isDone: boolean, nowMillis: number): void {
    if (this.#arrived.delete(visit)) {
      this.#queue.delete(visit)
      return
    }
    const begunMillis = this.#begun.get(visit)
    if (begunMillis === undefined) return
    this.#begun.delete(visit)
    this.#spare.delete(visit)
    this.#limit.end(visit.cost, isDone ? nowMillis - begunMillis : undefined, nowMillis)
    this.#advance(nowMillis)
  }

  /** Refuses what has waited too long; for a round in the background, since places may not come free. */
  refuseOverdue(nowMillis: number): void {
    for (const visit of this.#queue.heads()) this.#refuseIfOverdue(visit, nowMillis)
  }

  #advance(nowMillis: number): void {
    while (this.#limit.hasRoom) {
      const visit = this.#queue.take()
      if (visit === undefined) return
      if (this.#isOverdue(visit, nowMillis)) {
        this.#queue.refund(visit)
        this.#refuse(visit)
      } else {
        this.#arrived.delete(visit)
        this.#begin(visit, nowMillis, false)
      }
    }
  }

  #hasSparePlace({ account, isCalm = false }: Visit): boolean {
    const sparePlaces = Math.max(sparePlacesMin, this.#limit.limit * spareShare)
    if (!isCalm || this.#spare.size >= sparePlaces || this.#queue.isWaiting(account)) return false
    let own = 0
    for (const begun of this.#begun.keys()) if (begun.account === account) own += 1
    return own < sparePlaces
  }

  #begin(visit: Visit, nowMillis: number, isAtOnce: boolean): void {
    this.#begun.set(visit, nowMillis)
    this.#limit.begin()
    visit.begin(isAtOnce)
  }

  #isOverdue(visit: Visit, nowMillis: number): boolean {
    return nowMillis - (this.#arrived.get(visit) ?? nowMillis) > this.#waitedMillisMax
  }

  #refuseIfOverdue(visit: Visit, nowMillis: number): void {
    if (!this.#isOverdue(visit, nowMillis)) return
    this.#queue.delete(visit)
    this.#refuse(visit)
  }

  #refuse(visit: Visit): void {
    this.#arrived.delete(visit)
    visit.refuse(this.#refusal(visit, this.#limit.waitMillis(this.#queue.ahead(visit.account))))
  }

  #refusal({ account }: Pick<Visit, "account">, waitMillis: number): Refusal {
    return { bound: this.#queue.isOverShare(account) ? "share" : "wait", work: this.name, waitMillis }
  }
}

export interface Waiting {
  /** Account whose turn it takes. */
  readonly account: string
  readonly weight: number
  /** Units of work, at least 1. */
  readonly cost: number
}

interface Turn<Item> {
  readonly account: string
  weight: number
  readonly items: Array<Item>
  cost: number
  deficit: number
}

/**
 * Requests that wait for one kind of work, in a queue for each account, served by deficit round robin, with accounts
 * that had nothing waiting ahead of the others once (Shreedhar and Varghese 1995; RFC 8290, section 4.2). An account
 * that asks less than its share hardly waits, however much another one sends.
 *
 * Invariants:
 * - Within an account, first come, first served.
 * - Of two accounts that always wait, each is served in proportion to its weight.
 * - An emptied queue keeps its place among the turns until it comes by, so that sending one request at a time does not
 * make an account new again and again.
 */
export class FairQueue<Item extends Waiting> {
  readonly #turns = new Map<string, Turn<Item>>()
  #fresh: Array<Turn<Item>> = []
  #round: Array<Turn<Item>> = []
  #size = 0
  #cost = 0
  #accounts = 0
  #weight = 0

  get size(): number {
    return this.#size
  }

  /** Accounts with something waiting. */
  get accounts(): number {
    return this.#accounts
  }

  add(item: Item): void {
    let turn = this.#turns.get(item.account)
    if (turn === undefined) {
      turn = { account: item.account, weight: item.weight, items: [], cost: 0, deficit: item.weight }
      this.#turns.set(item.account, turn)
      this.#fresh.push(turn)
    }
    if (turn.items.length === 0) {
      turn.weight = item.weight
      this.#accounts += 1
      this.#weight += turn.weight
    }
    turn.items.push(item)
    turn.cost += item.cost
    this.#size += 1
    this.#cost += item.cost
  }

  /** The one whose turn it is, removed. */
  take(): Item | undefined {
    while (this.#size > 0) {
      const isFresh = this.#fresh.length > 0
      const turn = (isFresh ? this.#fresh : this.#round)[0]!
      if (turn.items.length > 0 && turn.deficit > 0) {
        const item = turn.items[0]!
        turn.deficit -= item.cost
        this.#remove(turn, 0)
        return item
      }
      if (isFresh) this.#fresh.shift()
      else this.#round.shift()
      if (turn.items.length === 0 && !isFresh) this.#turns.delete(turn.account)
      else {
        if (turn.deficit <= 0) turn.deficit += turn.weight
        this.#round.push(turn)
      }
    }
    this.#turns.clear()
    this.#fresh = []
    this.#round = []
    return undefined
  }

  /** Returns the cost of an item that is not served: its account keeps the turn. */
  refund({ account, cost }: Item): void {
    const turn = this.#turns.get(account)
    if (turn !== undefined) turn.deficit += cost
  }

  /** False if it does not wait here. */
  delete(item: Item): boolean {
    const turn = this.#turns.get(item.account)
    const at = turn?.items.indexOf(item) ?? -1
    if (turn === undefined || at < 0) return false
    this.#remove(turn, at)
    return true
  }

  /** The longest waiting one of each account. */
  *heads(): Generator<Item> {
    for (const { items } of this.#turns.values()) if (items.length > 0) yield items[0]!
  }

  /** Units of work that are served before a new item of this account. */
  ahead(account: string): number {
    const turn = this.#turns.get(account)
    if (turn === undefined || turn.items.length === 0) return Math.min(this.#cost, this.#accounts)
    return Math.min(this.#cost, (turn.cost * this.#weight) / turn.weight)
  }

  isWaiting(account: string): boolean {
    return (this.#turns.get(account)?.items.length ?? 0) > 0
  }

  /** Whether an account waits for more than its share, while others wait. */
  isOverShare(account: string): boolean {
    const turn = this.#turns.get(account)
    if (turn === undefined || this.#accounts < 2) return false
    return turn.cost * this.#weight > turn.weight * this.#cost
  }

  #remove(turn: Turn<Item>, at: number): void {
    const [item] = turn.items.splice(at, 1)
    turn.cost -= item!.cost
    this.#cost -= item!.cost
    this.#size -= 1
    if (turn.items.length > 0) return
    this.#accounts -= 1
    this.#weight -= turn.weight
  }
}
