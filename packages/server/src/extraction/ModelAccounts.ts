/**
 * Which accounts the configured language model serves. Its calls cost the operator money, so with `paid` a free account
 * has it only while credits that were paid for are left; conversations and answers of others are read by the rules.
 */
import { Context, Effect, Layer } from "effect"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { Consolidator } from "@muniment/insight/consolidation/Consolidator"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { ModelRanker } from "@muniment/insight/ranking/ModelRanker"
import { RuleExtractor } from "@muniment/insight/rules/RuleExtractor"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { Ledger } from "@muniment/control/credits/Ledger"

const unpaid = new ModelFailure({ reason: "unpaid", message: "the language model serves accounts that paid" })

type ByModel = Extractor | AnswerWriter | ModelRanker | Consolidator

/** By the model for accounts that paid; the others have rules and quotes, and neither re-ranking nor consolidation. */
export const modelForPaidAccounts = <E, R>(byModel: Layer.Layer<ByModel, E, R>) =>
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
      const { consolidate } = Context.get(model, Consolidator)
      /** Fails for accounts that have not paid. */
      const paidOnly =
        <Q extends { readonly account: string }, A>(ask: (request: Q) => Effect.Effect<A, ModelFailure>) =>
        (request: Q) =>
          Effect.flatMap(hasPaid(request.account), (paid) => (paid ? ask(request) : Effect.fail(unpaid)))

      return Context.make(Extractor, {
        name: Context.get(model, Extractor).name,
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
        Context.add(ModelRanker, { model: ranker.model, rank: ranker.rank && paidOnly(ranker.rank) }),
        Context.add(Consolidator, { consolidate: consolidate && paidOnly(consolidate) })
      )
    })
  )
