/**
 * Checks of what a start most often fails by, made before the service is loaded, which takes most of a second:
 * settings, the data directory and who holds it, the address. The start itself checks them again, as they may change in
 * between.
 *
 * Invariant: nothing of the service's layers is imported (`test/integration/start-failures.test.ts`).
 */
import { Effect, Layer, Option, References } from "effect"
import { ServerConfig, serviceLogger } from "./Config.ts"
import { DataDirectory } from "./DataDirectory.ts"
import { demandConsolidator, languageModelOf } from "./extraction/LanguageModelSettings.ts"
import { demandFreeAddress } from "./http/ListenAddress.ts"

export const checkStart = Effect.gen(function* () {
  const config = yield* ServerConfig
  const { consolidation, dataDirectory, llm, logLevel } = config
  if (llm.provider !== "none") yield* languageModelOf(llm.provider, llm, consolidation.tokensPerDay)
  yield* demandConsolidator(llm, consolidation)
  const operatorToken = Option.getOrUndefined(config.operatorToken)
  yield* Layer.build(DataDirectory.layer({ path: dataDirectory, operatorToken })).pipe(
    Effect.scoped,
    Effect.provide(serviceLogger),
    Effect.provideService(References.MinimumLogLevel, logLevel)
  )
  yield* demandFreeAddress(config)
}).pipe(Effect.withSpan("StartChecks.check"))
