/**
 * Sums of the ledger by period: what came in on which network, and what calls and storage took (contract: Operator
 * routes).
 */
import { Context, Effect, Layer } from "effect"
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import { toCredits, toUsd } from "@muniment/domain/Money"
import { PaymentNetwork } from "@muniment/domain/Payment"
import type { RevenuePeriod, RevenueRow } from "@muniment/domain/Statement"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { type Ledger, makeTransferPages } from "./Ledger.ts"
import { entriesOf, type EntryRow, purseOfName, usdcOn } from "./Transfers.ts"
import type { Period } from "./Statements.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export class Revenue extends Context.Service<
  Revenue,
  {
    readonly rows: (period: Period, by: RevenuePeriod) => Effect.Effect<ReadonlyArray<RevenueRow>, ControlFailure>
  }
>()("muniment/control/Revenue") {
  static readonly layer: Layer.Layer<Revenue, never, ControlDatabase | Ledger> = Layer.effect(
    Revenue,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const { sql } = yield* ControlDatabase
  const eachTransfer = yield* makeTransferPages

  return Revenue.of({
    rows: Effect.fn("Revenue.rows")(function* ({ from, until }, by) {
      const sums = new Map<string, Sum>()
      yield* eachTransfer(
        ({ after, last }) => sql<EntryRow>`${entriesOf(sql)}
          WHERE transfer.id > ${after} AND transfer.id <= ${last}
            AND transfer.at >= ${from} AND transfer.at < ${until}
            AND transfer.kind NOT IN ('allowance', 'allowance_expired')`,
        (row) => add(sums, periodOf(row.at, by), row)
      )
      return [...sums.entries()]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([, { count, micro, of }]) => ({ ...of, count, credits: toCredits(micro), usd: toUsd(micro) }))
    })
  })
})

type Line = Omit<RevenueRow, "count" | "credits" | "usd">

interface Sum {
  readonly of: Line
  count: number
  micro: number
}

const add = (sums: Map<string, Sum>, period: string, row: EntryRow): void => {
  const of: Line = { period, ...lineOf(row) }
  const key = JSON.stringify(Object.values(of))
  const sum = sums.get(key) ?? { of, count: 0, micro: 0 }
  sum.count += row.calls
  sum.micro += row.amount * signOf(row)
  sums.set(key, sum)
}

const lineOf = ({ credited, debited, kind, operation }: EntryRow): Omit<Line, "period"> => {
  const network = networkOf(debited) ?? networkOf(credited)
  const isMoney = network !== undefined
  const moneyKind = kind === "deposit" ? "received" : kind === "reversal" ? "reversed" : "refunded"
  if (isMoney) return { kind: moneyKind, network, asset: "USDC", operation: null, purse: null }
  const common = { network: null, asset: null, purse: purseOfName(debited)?.purse ?? null }
  // The reason of a correction is a text of its own each time.
  if (kind === "adjustment") return { ...common, kind: "adjusted", operation: null, purse: null }
  return { ...common, kind: "charged", operation: kind === "charge" ? operation : "storage" }
}

/** Money that went back, and what operators gave, is negative. */
const signOf = ({ credited, kind }: EntryRow): 1 | -1 => {
  if (kind === "reversal") return -1
  if (kind !== "adjustment") return 1
  return networkOf(credited) !== undefined || purseOfName(credited) !== undefined ? -1 : 1
}

const networkByName = new Map<string, PaymentNetwork>(
  PaymentNetwork.literals.map((network) => [usdcOn(network), network])
)
const networkOf = (name: string): PaymentNetwork | undefined => networkByName.get(name)

/** The day, the Monday of the week, or the month. */
const periodOf = (atMillis: number, by: RevenuePeriod): string => {
  const day = dayOf(atMillis)
  if (by === "day") return day
  if (by === "month") return day.slice(0, "2026-01".length)
  return dayOf(atMillis - ((new Date(atMillis).getUTCDay() + 6) % 7) * dayMillis)
}
