/** The services of the ledger over a real control.db, as one start of the process builds them. */
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { Accounts } from "@muniment/ledger/Accounts"
import { ApiKeyStore } from "@muniment/ledger/ApiKeyStore"
import { ControlDatabase } from "@muniment/ledger/ControlDatabase"
import { GrantRevocations } from "@muniment/ledger/GrantRevocations"
import { IdempotencyStore } from "@muniment/ledger/IdempotencyStore"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/ledger/SchemaRegistry"
import { Wallets } from "@muniment/ledger/Wallets"

/** Providing it again for the same directory is a restart. */
export const ledgerOf = (dataDirectory: string) =>
  Layer.mergeAll(
    Accounts.layer,
    ApiKeyStore.layer,
    SchemaRegistry.layer,
    NamespaceDirectory.layer,
    IdempotencyStore.layer,
    Wallets.layer,
    GrantRevocations.layer
  ).pipe(
    Layer.provideMerge(ControlDatabase.layer(dataDirectory)),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.fresh
  )
