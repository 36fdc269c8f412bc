/** The clock of the machine, for rounds under a test that moves its own clock by years and would run millions of them. */
import { Clock, Effect, Layer } from "effect"

export const liveClock = Layer.succeed(Clock.Clock, Effect.runSync(Clock.Clock))
