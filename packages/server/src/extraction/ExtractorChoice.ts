/**
 * Choice of the extractor and the answer writer: the configured language model, or rules and quoted memories when
 * none is configured; and of what is a model or none: the partner of chats, the ranker of hits, the consolidator.
 */
import { Effect, Layer, Option, Context } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { credits, type MicroCredits } from "@muniment/domain/Money"
import type { BudgetHold, ModelSpend } from "@muniment/domain/ModelSpend"
import { ChatPartner } from "@muniment/insight/answers/ChatPartner"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { Consolidator } from "@muniment/insight/consolidation/Consolidator"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { ModelRanker } from "@muniment/insight/ranking/ModelRanker"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import { Ledger, type Reservation } from "@muniment/control/credits/Ledger"
import { timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import { ModelBudget } from "@muniment/models/llm/ModelBudget"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import {
  type ConsolidationSettings,
  demandConsolidator,
  type LanguageModelMisconfigured,
  languageModelOf,
  type LlmSettings
} from "./LanguageModelSettings.ts"
import { TokenCosts, TokenNamespace } from "../credits/ChargedCalls.ts"

type Chosen = Extractor | AnswerWriter | ChatPartner | ModelRanker | Consolidator

export const extractorChoice = (
  settings: LlmSettings,
  consolidation: ConsolidationSettings,
  takesPayments: boolean
): Layer.Layer<Chosen, LanguageModelMisconfigured, ModelUsage | Accounts | Ledger> => {
  const { provider } = settings
  if (provider === "none") {
    const rules = Layer.mergeAll(
      RuleExtractor.layer,
      AnswerWriter.layerExtractive,
      ChatPartner.layerNone,
      ModelRanker.layerNone,
      Consolidator.layerNone
    )
    return Layer.unwrap(Effect.as(demandConsolidator(settings, consolidation), rules))
  }
  // Loaded where a model is configured alone.
  const readers = Effect.map(
    Effect.all([
      languageModelOf(provider, settings, consolidation.tokensPerDay),
      Effect.promise(() => import("./ModelReaders.ts"))
    ]),
    ([config, { modelReaders }]) =>
      modelReaders(config, { isStrict: settings.checks === "strict", consolidates: consolidation.isOn })
  )
  const byModel = Layer.unwrap(readers).pipe(
    Layer.provide(chargedTokens({ input: settings.inputCreditsPer1000, output: settings.outputCreditsPer1000 }))
  )
  const whom = Option.getOrElse(settings.accounts, () => (takesPayments ? "paid" : "all"))
  return whom === "paid" ? modelForPaidAccounts(byModel) : byModel
}

/** Calls of the model one after the other in a long conversation. */
const roundsMax = 4

/** Deadline of a whole reading. A request waits for `Limits.extractionDeadlineMillis` of it, unless it asks to wait. */
export const extractionDeadline = ({ provider, timeoutMillis }: LlmSettings): number =>
  provider === "none"
    ? Limits.extractionDeadlineMillis
    : roundsMax * timeoutOf({ timeoutMillis: Option.getOrUndefined(timeoutMillis) }, "extraction")

/** Credits for 1,000 tokens. */
interface TokenPrices {
  readonly input: number
  readonly output: number
}

const tokensPriced = 1_000

/**
 * The price of the language model's tokens beyond the price of a call (contract: Credits): held for the estimate before
 * the model is asked, charged for what was used, also if the call failed. Without prices nothing is held.
 *
 * The budget of tokens, with their price.
 */
const chargedTokens = (prices: TokenPrices) =>
  Layer.effect(
    ModelBudget,
    Effect.gen(function* () {
      const usage = yield* ModelUsage
      if (prices.input === 0 && prices.output === 0) return usage
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const held = new WeakMap<BudgetHold, Reservation>()
      const priceOf = ({ inputTokens, outputTokens }: ModelSpend): MicroCredits =>
        Math.ceil(credits(inputTokens * prices.input + outputTokens * prices.output) / tokensPriced)

      const reserve: ModelBudget["Service"]["reserve"] = Effect.fnUntraced(function* (accountId, estimate, bounds) {
        const account = yield* accounts.byId(accountId)
        const { payer } = yield* TokenCosts
        if (account === undefined || payer === "nobody") return yield* usage.reserve(accountId, estimate, bounds)
        const namespace = yield* TokenNamespace
        const paying = payer === "owner" ? { ...account, plan: payer } : account
        const priced = { account: paying, operation: nameOf(estimate), price: priceOf(estimate), namespace }
        const reserved = ledger.reserve(priced)
        const reservation = yield* Effect.catchTag(reserved, "InsufficientCredits", () => Effect.succeed(undefined))
        if (reservation === undefined) return "unpaid"
        const hold = yield* Effect.onError(usage.reserve(accountId, estimate, bounds), () => ledger.void(reservation))
        if (hold === undefined) yield* ledger.void(reservation)
        else held.set(hold, reservation)
        return hold
      }, Effect.uninterruptible)

      const charge = Effect.fnUntraced(function* (hold: BudgetHold, used: ModelSpend) {
        const reservation = held.get(hold)
        if (reservation === undefined) return
        held.delete(hold)
        // The estimate is high; an account never pays more than was held for it.
        const price = Math.min(priceOf(used), reservation.charge + reservation.ownUse)
        const { charged } = yield* ledger.settle(reservation, { operation: nameOf(used), price })
        const costs = yield* TokenCosts
        costs.micro += charged + reservation.ownUse
      })

      return ModelBudget.of({
        reserve,
        settle: (hold, used) => Effect.uninterruptible(Effect.andThen(usage.settle(hold, used), charge(hold, used)))
      })
    })
  )

const nameOf = ({ inputTokens, outputTokens }: ModelSpend): string =>
  `model: ${inputTokens} input and ${outputTokens} output tokens`

const unpaid = new ModelFailure({ reason: "unpaid", message: "the language model serves accounts that paid" })

/**
 * Which accounts the configured language model serves. Its calls cost the operator money, so with `paid` a free account
 * has it only while credits that were paid for are left; conversations and answers of others are read by the rules.
 *
 * By the model for accounts that paid; the others have rules and quotes, and neither chats, re-ranking nor consolidation.
 */
const modelForPaidAccounts = <E, R>(byModel: Layer.Layer<Chosen, E, R>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const model = yield* Layer.build(byModel)
      const rules = yield* Layer.build(Layer.mergeAll(RuleExtractor.layer, AnswerWriter.layerExtractive))

      const hasPaid = Effect.fnUntraced(function* (id: string) {
        const account = yield* accounts.byId(id)
        if (account === undefined) return false
        return account.plan !== "free" || (yield* ledger.purses(account)).paid > 0
      })
      const chosen = (account: string) => Effect.map(hasPaid(account), (paid) => (paid ? model : rules))
      const extractorOf = (account: string) => Effect.map(chosen(account), (context) => Context.get(context, Extractor))

      const ranker = Context.get(model, ModelRanker)
      const partner = Context.get(model, ChatPartner)
      const { consolidate } = Context.get(model, Consolidator)
      /** Fails for accounts that have not paid. */
      const paidOnly =
        <Q extends { readonly account: string }, A>(ask: (request: Q) => Effect.Effect<A, ModelFailure>) =>
        (request: Q) =>
          Effect.flatMap(hasPaid(request.account), (paid) => (paid ? ask(request) : Effect.fail(unpaid)))

      return Context.make(Extractor, {
        name: Context.get(model, Extractor).name,
        problem: Context.get(model, Extractor).problem,
        extract: (request) => Effect.flatMap(extractorOf(request.account), ({ extract }) => extract(request)),
        extractAtOnce: (request) =>
          Effect.flatMap(
            extractorOf(request.account),
            ({ extractAtOnce }) => extractAtOnce?.(request) ?? Effect.undefined
          ),
        estimate: (request) => Effect.flatMap(extractorOf(request.account), ({ estimate }) => estimate(request)),
        ready: (account) => Effect.flatMap(extractorOf(account), ({ ready }) => ready(account)),
        underWay: (account) => Effect.flatMap(extractorOf(account), ({ underWay }) => underWay(account)),
        untilFree: (account) => Effect.flatMap(extractorOf(account), ({ untilFree }) => untilFree(account))
      }).pipe(
        Context.add(AnswerWriter, {
          write: (request) =>
            Effect.flatMap(chosen(request.account), (context) => Context.get(context, AnswerWriter).write(request))
        }),
        Context.add(ChatPartner, { model: partner.model, reply: partner.reply && paidOnly(partner.reply) }),
        Context.add(ModelRanker, { model: ranker.model, rank: ranker.rank && paidOnly(ranker.rank) }),
        Context.add(Consolidator, { consolidate: consolidate && paidOnly(consolidate) })
      )
    })
  )
