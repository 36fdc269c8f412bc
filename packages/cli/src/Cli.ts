/** The command tree of `muniment`. Each command says what it does with `--help`. */
import { Command } from "effect/cli"
import manifest from "../package.json" with { type: "json" }
import { accounts } from "./commands/accounts.ts"
import { audit, jobs, requests } from "./commands/logs.ts"
import { attest } from "./commands/attest.ts"
import { backup } from "./commands/backup.ts"
import { chat } from "./commands/chat.ts"
import { cluster, migrate } from "./commands/cluster.ts"
import { consoleCommand } from "./commands/console.ts"
import { credits, deposit } from "./commands/credits.ts"
import { doctor, status } from "./commands/doctor.ts"
import { evalCases } from "./commands/eval.ts"
import { exportMemories } from "./commands/export.ts"
import { importMemories } from "./commands/import.ts"
import { keys, profile, wallet, wallets } from "./commands/keys.ts"
import { mcp } from "./commands/mcp.ts"
import { context, forget, memoriesById, remember, search } from "./commands/memories.ts"
import { models } from "./commands/models.ts"
import { operators } from "./commands/operators.ts"
import { consolidate, reembed, reread } from "./commands/rework.ts"
import { restore } from "./commands/restore.ts"
import { ledger, payments, refund, revenue, statement } from "./commands/money.ts"
import { serve } from "./commands/serve.ts"
import { share, sign } from "./commands/sign.ts"
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
    operators,
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
