/** The services of package control without money, over a real control.db, as one start of the process builds them. */
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Operators } from "@muniment/control/accounts/Operators"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { GrantRevocations } from "@muniment/control/accounts/GrantRevocations"
import { IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import { controlOf } from "./MemoryLog.ts"

/** Providing it again for the same directory is a restart. */
export const controlLayerOf = (dataDirectory: string) =>
  Layer.mergeAll(
    Accounts.layer,
    ApiKeyStore.layer,
    AuditLog.layer,
    Operators.layer,
    SchemaRegistry.layer,
    NamespaceDirectory.layer,
    IdempotencyStore.layer,
    Wallets.layer,
    GrantRevocations.layer,
    AccountHooks.layer
  ).pipe(
    Layer.provideMerge(Quotas.layer),
    Layer.provideMerge(controlOf(dataDirectory)),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.fresh
  )
