/**
 * The ledger as plain objects: what the process knows and what the disk holds, which differ by the
 * changes under way. A kill forgets the first and keeps the second.
 */
import { type MicroCredits, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import { Limits } from "@muniment/domain/Limits"

export interface ModelHold {
  readonly account: string
  readonly fromAllowance: MicroCredits
  readonly fromBalance: MicroCredits
  readonly month: string
  readonly request?: string
  readonly isDurable: boolean
  readonly at: number
}

interface ModelPurse {
  balance: MicroCredits
  allowance: MicroCredits
  month: string
}

/** One side of the model: memory or disk. */
interface Side {
  purses: Record<string, ModelPurse>
  open: Record<string, ModelHold>
  /** Settled requests, by request: when they were reserved. */
  settled: Record<string, number>
}

type Change = (side: Side) => void

const emptySide = (): Side => ({ purses: {}, open: {}, settled: {} })
const purseIn = (side: Side, account: string): ModelPurse =>
  (side.purses[account] ??= { balance: 0, allowance: 0, month: "" })

export class LedgerModel {
  memory = emptySide()
  disk = emptySide()
  readonly #pending: Array<Change> = []
  readonly #monthlyAllowance: MicroCredits

  constructor(monthlyAllowance: MicroCredits) {
    this.#monthlyAllowance = monthlyAllowance
  }

  /** Known to the process now, on the disk later. */
  queue(change: Change): void {
    change(this.memory)
    this.#pending.push(change)
  }

  /** On the disk before anybody goes on. */
  direct(change: Change): void {
    change(this.memory)
    change(this.disk)
  }

  flush(): void {
    for (const change of this.#pending.splice(0)) change(this.disk)
  }

  /** What the next process finds; holds of reads die with their process. */
  kill(): void {
    this.#pending.length = 0
    this.memory = structuredClone(this.disk)
  }

  free(account: string): { readonly balance: MicroCredits; readonly allowance: MicroCredits } {
    const { allowance, balance } = purseIn(this.memory, account)
    const holds = Object.values(this.memory.open).filter((hold) => hold.account === account)
    return {
      balance: holds.reduce((left, hold) => left - hold.fromBalance, balance),
      allowance: holds.reduce((left, hold) => left - hold.fromAllowance, allowance)
    }
  }

  /** The first look in a month: the old allowance goes, as far as nobody holds it, the new one comes. */
  touch(account: string, month: string): void {
    if (month <= purseIn(this.memory, account).month) return
    const expired = this.free(account).allowance
    this.queue((side) => {
      const purse = purseIn(side, account)
      purse.allowance += this.#monthlyAllowance - expired
      purse.month = month
    })
  }

  split(account: string, price: MicroCredits) {
    const { allowance, balance } = this.free(account)
    const fromAllowance = Math.min(allowance, price)
    return allowance + balance < price ? undefined : { fromAllowance, fromBalance: price - fromAllowance }
  }

  hold(id: string, hold: ModelHold): void {
    if (!hold.isDurable) {
      this.memory.open[id] = hold
      return
    }
    this.queue((side) => {
      if (hold.request !== undefined) delete side.settled[hold.request]
      side.open[id] = hold
    })
    this.flush()
  }

  settle(id: string): MicroCredits {
    const hold = this.memory.open[id]!
    this.queue((side) => {
      delete side.open[id]
      if (hold.request !== undefined) side.settled[hold.request] = hold.at
      const purse = purseIn(side, hold.account)
      purse.allowance -= hold.fromAllowance
      purse.balance -= hold.fromBalance
    })
    return hold.fromAllowance + hold.fromBalance
  }

  void(id: string): void {
    const hold = this.memory.open[id]!
    const isOver = hold.month !== purseIn(this.memory, hold.account).month
    this.queue((side) => {
      delete side.open[id]
      if (isOver) purseIn(side, hold.account).allowance -= hold.fromAllowance
    })
  }

  /** What became of a request; looking at one whose end is not on the disk yet brings it there. */
  request(request: string, now: number): { readonly open?: string; readonly isPaid: boolean } {
    const openOn = (side: Side) => Object.keys(side.open).find((id) => side.open[id]!.request === request)
    const open = openOn(this.memory)
    if (open !== undefined) return { open, isPaid: false }
    if (openOn(this.disk) !== undefined) this.flush()
    const settledAt = this.memory.settled[request]
    return { isPaid: settledAt !== undefined && settledAt >= now - Limits.reservationRetentionMillis }
  }

  credit(account: string, amount: MicroCredits): void {
    this.direct((side) => (purseIn(side, account).balance += amount))
  }

  /** Takes what is free of `amount`, after everything before is on the disk. */
  debit(account: string, amount: MicroCredits): MicroCredits {
    this.flush()
    const taken = Math.min(amount, this.free(account).balance)
    this.credit(account, -taken)
    return taken
  }

  insure(account: string, memories: number): MicroCredits {
    return this.debit(account, memories * storageMicroCreditsPerMemoryDay)
  }
}
