/** Errors of the log as those of the store's port. */
import { Effect } from "effect"
import type { LogError } from "../../log/LogError.ts"
import { StoreDamaged, StoreFault, StoreFenced, StoreFull, type StoreError } from "../StoreError.ts"

export const logged = <A>(step: Effect.Effect<A, LogError>): Effect.Effect<A, StoreError> =>
  Effect.mapError(step, storeErrorOfLog)

const storeErrorOfLog = (error: LogError): StoreError => {
  switch (error._tag) {
    case "LogFenced":
      return new StoreFenced({ epoch: error.epoch })
    case "LogFull":
      return new StoreFull({ cause: error.cause })
    case "LogDamaged":
      return new StoreDamaged({ reason: error.reason, cause: error })
    case "LogFault":
      return new StoreFault({ cause: error })
  }
}
