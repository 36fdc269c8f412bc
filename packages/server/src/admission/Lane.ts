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
import { FairQueue, type Waiting } from "./FairQueue.ts"
import type { Refusal } from "./Refusal.ts"
import { WorkLimit } from "./WorkLimit.ts"

export interface Visit extends Waiting {
  /** Its account asks only now and then (`CalmAccounts.ts`). */
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
  /** That a request of an account without others waiting can expect. */
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
  /** Those in work, and since when. */
  readonly #begun = new Map<Visit, number>()
  readonly #arrived = new Map<Visit, number>()
  /** Those in spare places. */
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

  /** Of a request that comes now; undefined: it would begin or wait. */
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
