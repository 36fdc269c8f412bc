/**
 * Requests that wait for one kind of work, in a queue for each account, served by deficit round robin, with accounts
 * that had nothing waiting ahead of the others once (Shreedhar and Varghese 1995; RFC 8290, section 4.2). An account
 * that asks less than its share hardly waits, however much another one sends.
 *
 * Invariants:
 * - Within an account, first come, first served.
 * - Of two accounts that always wait, each is served in proportion to its weight.
 * - An emptied queue keeps its place among the turns until it comes by, so that sending one request at a time does not
 *   make an account new again and again.
 */
export interface Waiting {
  /** Whose turn it takes. */
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

  /** What was taken is not served: its account keeps the turn. */
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
