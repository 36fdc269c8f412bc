/** The money services over a real control.db, as one start of the process builds them. */
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { credits, type MicroCredits } from "@muniment/domain/Money"
import type { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { controlOf } from "./MemoryLog.ts"

/** Providing it again for the same directory is a restart. */
export const moneyLayerOf = (dataDirectory: string, monthlyAllowance: MicroCredits = credits(1_000)) =>
  moneyOver(controlOf(dataDirectory), monthlyAllowance)

/** The same over any control.db. */
export const moneyOver = <A, E>(control: Layer.Layer<A | ControlDatabase, E>, monthlyAllowance = credits(1_000)) =>
  Layer.mergeAll(PaymentJournal.layer, JobLog.layer).pipe(
    Layer.provideMerge(Ledger.layer({ monthlyAllowance })),
    Layer.provideMerge(control),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.fresh
  )
