/**
 * Language model usage per account and UTC day: tokens and millionths of a US dollar, integers; of shares with a bound of
 * their own the tokens per UTC day.
 *
 * Invariants: an estimate is durable before the model is called, and is replaced by the actual use when the call ends, on
 * the day of the estimate. If the process dies in between, the estimate stays, so a budget never misses a call.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { dayOf } from "@muniment/domain/CalendarDay"
import {
  type BudgetBounds,
  type BudgetHold,
  type BudgetShare,
  type ModelSpend,
  noSpend
} from "@muniment/domain/ModelSpend"
import type { ModelUsageDay } from "@muniment/domain/Operations"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

interface UsageQuery {
  /** Default: all accounts. */
  readonly account?: string | undefined
  /** `YYYY-MM-DD`, UTC; both ends are included. */
  readonly fromDay: string
  readonly toDay: string
}

/** Rows of one listing. */
const usageRowsMax = 10_000

export class ModelUsage extends Context.Service<
  ModelUsage,
  {
    /** Adds `estimate` to today's use if that stays within `bounds`; otherwise `undefined`. */
    readonly reserve: (
      account: string,
      estimate: ModelSpend,
      bounds: BudgetBounds
    ) => Effect.Effect<BudgetHold | undefined, ControlFailure>
    /** Replaces the hold's estimate by `used`; once per hold. */
    readonly settle: (hold: BudgetHold, used: ModelSpend) => Effect.Effect<void, ControlFailure>
    /** Newest day first, then by account; at most `usageRowsMax`. Calls under way count as estimated. */
    readonly usage: (query: UsageQuery) => Effect.Effect<ReadonlyArray<ModelUsageDay>>
  }
>()("muniment/control/ModelUsage") {
  static readonly layer = Layer.effect(
    ModelUsage,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase

      const usedOn = (account: string, day: string) =>
        Effect.map(
          sql<ModelSpend>`SELECT input_tokens AS inputTokens, output_tokens AS outputTokens, cost_micro_usd AS costMicroUsd
            FROM model_usage WHERE account = ${account} AND day = ${day}`,
          ([row]) => row ?? noSpend
        )

      const tokensOn = (day: string) =>
        Effect.map(
          sql<{ readonly tokens: number }>`SELECT COALESCE(SUM(input_tokens + output_tokens), 0) AS tokens
            FROM model_usage WHERE day = ${day}`,
          ([row]) => row!.tokens
        )

      const add = (account: string, day: string, usage: ModelSpend) =>
        sql`INSERT INTO model_usage ${sql.insert({
          account,
          day,
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cost_micro_usd: usage.costMicroUsd
        })} ON CONFLICT (account, day) DO UPDATE SET
          input_tokens = input_tokens + excluded.input_tokens,
          output_tokens = output_tokens + excluded.output_tokens,
          cost_micro_usd = cost_micro_usd + excluded.cost_micro_usd`

      return ModelUsage.of({
        reserve: Effect.fn("ModelUsage.reserve")(function* (account, estimate, bounds) {
          assertCountable(estimate)
          const day = dayOf(yield* Clock.currentTimeMillis)
          return yield* write(
            Effect.gen(function* () {
              const used = yield* usedOn(account, day)
              if (!isWithin(used, estimate, bounds)) return undefined
              const { share, totalTokensPerDay = Infinity } = bounds
              if ((yield* tokensOn(day)) + tokensOf(estimate) > totalTokensPerDay) return undefined
              if (share !== undefined && !(yield* addToShare(sql, share, day, tokensOf(estimate)))) return undefined
              yield* add(account, day, estimate)
              return { account, day, estimate, share: share?.name }
            })
          )
        }),
        settle: Effect.fn("ModelUsage.settle")(function* ({ account, day, estimate, share }, used) {
          assertCountable(used)
          yield* write(
            Effect.gen(function* () {
              yield* sql`UPDATE model_usage SET
                  input_tokens = input_tokens + ${used.inputTokens - estimate.inputTokens},
                  output_tokens = output_tokens + ${used.outputTokens - estimate.outputTokens},
                  cost_micro_usd = cost_micro_usd + ${used.costMicroUsd - estimate.costMicroUsd}
                WHERE account = ${account} AND day = ${day}`
              if (share !== undefined)
                yield* sql`UPDATE model_share SET tokens = tokens + ${tokensOf(used) - tokensOf(estimate)}
                  WHERE share = ${share} AND day = ${day}`
            })
          )
        }),
        usage: ({ account, fromDay, toDay }) =>
          read(sql<ModelUsageDay>`SELECT account, day, input_tokens AS inputTokens, output_tokens AS outputTokens,
              cost_micro_usd AS costMicroUsd
            FROM model_usage
            WHERE day BETWEEN ${fromDay} AND ${toDay} AND (${account ?? null} IS NULL OR account = ${account ?? null})
            ORDER BY day DESC, account LIMIT ${usageRowsMax}`)
      })
    })
  )
}

/** Whether the share had room for the tokens. */
const addToShare = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { name: share, tokensPerDay }: BudgetShare,
  day: string,
  tokens: number
) {
  const [row] = yield* sql<{ readonly tokens: number }>`SELECT tokens FROM model_share
    WHERE share = ${share} AND day = ${day}`
  if ((row?.tokens ?? 0) + tokens > tokensPerDay) return false
  yield* sql`INSERT INTO model_share ${sql.insert({ share, day, tokens })}
    ON CONFLICT (share, day) DO UPDATE SET tokens = tokens + excluded.tokens`
  return true
})

const isWithin = (
  used: ModelSpend,
  estimate: ModelSpend,
  { costPerDayMicroUsd, tokensPerDay }: BudgetBounds
): boolean =>
  tokensOf(used) + tokensOf(estimate) <= (tokensPerDay ?? Infinity) &&
  used.costMicroUsd + estimate.costMicroUsd <= (costPerDayMicroUsd ?? Infinity)

const tokensOf = ({ inputTokens, outputTokens }: ModelSpend): number => inputTokens + outputTokens

/** A fraction or a negative number here is a broken caller, not an event of the world. */
const assertCountable = (usage: ModelSpend): void => {
  for (const amount of [usage.inputTokens, usage.outputTokens, usage.costMicroUsd]) {
    if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`${amount} is no amount of use`)
  }
}
