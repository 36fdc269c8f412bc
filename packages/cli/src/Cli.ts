/** The command tree of `muniment`. Each command says what it does with `--help`. */
import { Command } from "effect/cli"
import manifest from "../package.json" with { type: "json" }
import { accounts } from "./commands/accounts.ts"
import { audit } from "./commands/audit.ts"
import { attest } from "./commands/attest.ts"
import { backup } from "./commands/backup.ts"
import { chat } from "./commands/chat.ts"
import { cluster } from "./commands/cluster.ts"
import { consolidate } from "./commands/consolidate.ts"
import { consoleCommand } from "./commands/console.ts"
import { credits } from "./commands/credits.ts"
import { deposit } from "./commands/deposit.ts"
import { doctor, status } from "./commands/doctor.ts"
import { evalCases } from "./commands/eval.ts"
import { exportMemories } from "./commands/export.ts"
import { importMemories } from "./commands/import.ts"
import { jobs } from "./commands/jobs.ts"
import { keys } from "./commands/keys.ts"
import { ledger } from "./commands/ledger.ts"
import { mcp } from "./commands/mcp.ts"
import { context, forget, remember, search } from "./commands/memories.ts"
import { memoriesById } from "./commands/memoriesById.ts"
import { migrate } from "./commands/migrate.ts"
import { models } from "./commands/models.ts"
import { payments } from "./commands/payments.ts"
import { profile } from "./commands/profile.ts"
import { reembed } from "./commands/reembed.ts"
import { reread } from "./commands/reread.ts"
import { requests } from "./commands/requests.ts"
import { refund } from "./commands/refund.ts"
import { restore } from "./commands/restore.ts"
import { revenue, statement } from "./commands/statement.ts"
import { serve } from "./commands/serve.ts"
import { share } from "./commands/share.ts"
import { sign } from "./commands/sign.ts"
import { wallet, wallets } from "./commands/wallets.ts"
import { webhooks } from "./commands/webhooks.ts"

export const { version } = manifest

export const cli = Command.make("muniment").pipe(
  Command.withDescription("Self-hosted long-term memory for software agents"),
  Command.withSubcommands([
    serve,
    search,
    context,
    remember,
    forget,
    memoriesById,
    chat,
    profile,
    keys,
    accounts,
    wallets,
    audit,
    requests,
    consoleCommand,
    status,
    doctor,
    backup,
    restore,
    migrate,
    cluster,
    reembed,
    reread,
    evalCases,
    exportMemories,
    importMemories,
    mcp,
    wallet,
    sign,
    share,
    attest,
    deposit,
    credits,
    ledger,
    payments,
    refund,
    webhooks,
    statement,
    revenue,
    jobs,
    consolidate,
    models
  ])
)
