/** All versions of `control.db`, oldest first. */
import type { Migration } from "@muniment/sqlite/Migrate"
import { initial } from "./0001_initial.ts"
import { wallets } from "./0002_wallets.ts"
import { ledger } from "./0003_ledger.ts"
import { modelUsage } from "./0004_modelUsage.ts"
import { remember } from "./0005_remember.ts"
import { suspension } from "./0006_suspension.ts"
import { accountErasure } from "./0007_accountErasure.ts"
import { keyScopes } from "./0008_keyScopes.ts"
import { paymentReverts } from "./0009_paymentReverts.ts"
import { audit } from "./0010_audit.ts"
import { jobClock } from "./0011_jobClock.ts"
import { quotas } from "./0012_quotas.ts"
import { statements } from "./0013_statements.ts"
import { refunds } from "./0014_refunds.ts"
import { receipts } from "./0015_receipts.ts"
import { webhooks } from "./0016_webhooks.ts"
import { keyMakers } from "./0017_keyMakers.ts"
import { retiredAgents } from "./0018_retiredAgents.ts"
import { changeRecords } from "./0019_changeRecords.ts"
import { accountWebhooks } from "./0020_accountWebhooks.ts"
import { accountEvents } from "./0021_accountEvents.ts"
import { chargedAgents } from "./0022_chargedAgents.ts"
import { instructions } from "./0023_instructions.ts"
import { consolidations } from "./0024_consolidations.ts"

export const controlMigrations: ReadonlyArray<Migration> = [
  initial,
  wallets,
  ledger,
  modelUsage,
  remember,
  suspension,
  accountErasure,
  keyScopes,
  paymentReverts,
  audit,
  jobClock,
  quotas,
  statements,
  refunds,
  receipts,
  webhooks,
  keyMakers,
  retiredAgents,
  changeRecords,
  accountWebhooks,
  accountEvents,
  chargedAgents,
  instructions,
  consolidations
]
