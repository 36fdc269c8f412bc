/**
 * Everything that the service reads of its environment: variables with the prefix `MUNIMENT_`, its only configuration.
 * `docs/configuration.md` lists every name with its default. Secrets are redacted.
 */
import { resolve } from "node:path"
import { Config, Data, Effect, Logger, Option, Redacted, Schema } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { Instructions, Remember } from "@muniment/domain/Memory"
import type { BooksOptions } from "@muniment/control/credits/Books"
import { credits, type MicroCredits } from "@muniment/domain/Money"
import { indexPins } from "@muniment/engine/vectors/planner/Planner"
import { modelIds } from "@muniment/models/ModelCatalog"
import { isUsableSecret, usableSecret } from "@muniment/trust/ApiKeys"
import { openIdRule, type OpenIdSettings } from "./console/OpenIdSettings.ts"
import { audienceRules, isAddressRange } from "./identity/ClientAddress.ts"
import { type SignUpMode, signUpModes } from "./identity/WalletSignUp.ts"
import { hookReaches, isWebhookUrl, webhookSecret, webhookSecrets, webhookUrl } from "./webhooks/WebhookSettings.ts"

/** Credits a month, where payments are taken. */
const monthlyAllowanceDefault = 1_000

/** `expected` completes the sentence "expected ...". */
const textOf = (name: string, pattern: RegExp, expected: string) =>
  Config.schema(Schema.String.check(Schema.makeFilter((text: string) => pattern.test(text), { expected })), name)

const openIdIssuer = /^(?:https:\/\/[^\s/?#]+|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?)(?:\/[^\s?#]*)?$/

/** A bearer token that cannot be guessed. */
const secretOf = (name: string) =>
  Config.schema(Schema.String.check(Schema.makeFilter(isUsableSecret, { expected: usableSecret })), name).pipe(
    Config.map((secret) => Redacted.make(secret))
  )

const httpUrl = (name: string) => textOf(name, /^https?:\/\/[^\s/?#]+\S*$/, "an http or https URL").pipe(Config.option)

const integer = (name: string, minimum: number) =>
  Config.schema(
    Schema.Int.check(
      Schema.makeFilter((value: number) => value >= minimum, { expected: `a whole number of at least ${minimum}` })
    ),
    name
  )

/** A comma-separated list, empty by default; each item has the form. */
const nameList = (
  name: string,
  item: { readonly test: (text: string) => boolean } = /^.*$/,
  expected = "a list separated by commas"
) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) => itemsOf(text).every((each) => item.test(each)), { expected })
    ),
    name
  ).pipe(Config.withDefault(""), Config.map(itemsOf))

const itemsOf = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")

/** Deposits (`docs/money.md`); without networks none are taken. */
const payments = Config.all({
  networks: nameList("MUNIMENT_PAYMENT_NETWORKS"),
  evm: Config.all({
    payTo: Config.String("MUNIMENT_EVM_PAY_TO").pipe(Config.option),
    operatorKey: Config.Redacted("MUNIMENT_EVM_OPERATOR_KEY").pipe(Config.option),
    rpcUrl: Config.String("MUNIMENT_EVM_RPC_URL").pipe(Config.option)
  }),
  solana: Config.all({
    payTo: Config.String("MUNIMENT_SOLANA_PAY_TO").pipe(Config.option),
    operatorKey: Config.Redacted("MUNIMENT_SOLANA_OPERATOR_KEY").pipe(Config.option),
    rpcUrl: Config.String("MUNIMENT_SOLANA_RPC_URL").pipe(Config.option)
  }),
  facilitatorUrl: Config.String("MUNIMENT_FACILITATOR_URL").pipe(Config.option),
  confirmations: Config.Int("MUNIMENT_PAYMENT_CONFIRMATIONS").pipe(Config.withDefault(1))
})

/** The language model of extraction and answers; without one rules do the work. */
const llm = Config.all({
  provider: Config.Literals(["none", "openai-compatible", "anthropic"], "MUNIMENT_LLM_PROVIDER").pipe(
    Config.withDefault("none")
  ),
  baseUrl: Config.String("MUNIMENT_LLM_BASE_URL").pipe(Config.option),
  model: Config.String("MUNIMENT_LLM_MODEL").pipe(Config.option),
  apiKey: Config.Redacted("MUNIMENT_LLM_API_KEY").pipe(Config.option),
  timeoutMillis: Config.Int("MUNIMENT_LLM_TIMEOUT_MILLIS").pipe(Config.option),
  concurrency: Config.Int("MUNIMENT_LLM_CONCURRENCY").pipe(Config.option),
  /** Accounts that the model serves; default: those that paid where payments are taken, else all. */
  accounts: Config.Literals(["paid", "all"], "MUNIMENT_LLM_ACCOUNTS").pipe(Config.option),
  /** Told to the model with every reading: what to remember and what to leave out. */
  instructions: Config.schema(Instructions, "MUNIMENT_LLM_INSTRUCTIONS").pipe(
    Config.option,
    Config.map(Option.getOrUndefined)
  ),
  /** For weak models: strict ones take what a sentence states alone, and leave answers to quotes. */
  checks: Config.Literals(["normal", "strict"], "MUNIMENT_LLM_CHECKS").pipe(Config.withDefault("normal")),
  /** Budget of each account and UTC day, and of all accounts together. */
  tokensPerDay: Config.Int("MUNIMENT_LLM_TOKENS_PER_DAY").pipe(Config.withDefault(5_000_000)),
  totalTokensPerDay: Config.Int("MUNIMENT_LLM_TOTAL_TOKENS_PER_DAY").pipe(Config.withDefault(20_000_000)),
  costPerDayUsd: Config.Finite("MUNIMENT_LLM_COST_PER_DAY_USD").pipe(Config.option),
  inputUsdPerMillion: Config.Finite("MUNIMENT_LLM_INPUT_USD_PER_MILLION").pipe(Config.option),
  outputUsdPerMillion: Config.Finite("MUNIMENT_LLM_OUTPUT_USD_PER_MILLION").pipe(Config.option),
  /** Price of 1,000 tokens to accounts, beyond the price of a call. */
  inputCreditsPer1000: integer("MUNIMENT_LLM_INPUT_CREDITS_PER_1000", 0).pipe(Config.withDefault(0)),
  outputCreditsPer1000: integer("MUNIMENT_LLM_OUTPUT_CREDITS_PER_1000", 0).pipe(Config.withDefault(0))
})

/** Consolidation: whether and how far the model may change extracted memories when nothing else needs it. */
const consolidation = Config.all({
  isOn: Config.Literals(["off", "on"], "MUNIMENT_CONSOLIDATE").pipe(
    Config.withDefault("off"),
    Config.map((given) => given === "on")
  ),
  /** Budget of all accounts together, per UTC day. */
  tokensPerDay: integer("MUNIMENT_CONSOLIDATE_TOKENS_PER_DAY", 1).pipe(Config.withDefault(200_000))
})

/** Receiver of payments' webhooks (`docs/money.md`). */
const webhook = Config.all({
  url: Config.schema(
    Schema.String.check(Schema.makeFilter(isWebhookUrl, { expected: webhookUrl })),
    "MUNIMENT_WEBHOOK_URL"
  ).pipe(Config.option),
  secrets: Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) => webhookSecrets(text) !== undefined, { expected: webhookSecret })
    ),
    "MUNIMENT_WEBHOOK_SECRET"
  ).pipe(
    Config.map((text) => webhookSecrets(text) ?? []),
    Config.option
  )
})

/** Several machines (`docs/several-machines.md`); without a database there is one. */
export const ClusterVariables = Config.all({
  databaseUrl: Config.Redacted("MUNIMENT_DATABASE_URL").pipe(Config.option),
  /** Namespaces at rest: a folder that all nodes see, or s3://bucket/prefix. */
  bases: Config.String("MUNIMENT_BASES").pipe(Config.option),
  secret: Config.Redacted("MUNIMENT_CLUSTER_SECRET").pipe(Config.option),
  /** Address at which other nodes reach this one. */
  host: Config.String("MUNIMENT_NODE_HOST").pipe(Config.withDefault("127.0.0.1")),
  port: integer("MUNIMENT_NODE_PORT", 1).pipe(Config.withDefault(8_790))
})

const portPattern = /^(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/

/** Address and data of the service: all that a command needs to find it. */
const address = {
  host: Config.String("MUNIMENT_HOST").pipe(Config.withDefault("127.0.0.1")),
  port: textOf("MUNIMENT_PORT", portPattern, "a port, 1 to 65535").pipe(Config.withDefault("8787"), Config.map(Number)),
  dataDirectory: Config.String("MUNIMENT_DATA_DIR").pipe(
    Config.withDefault("./data"),
    Config.map((path) => resolve(path))
  )
}

export const ServiceAddress = Config.all(address)

/** Whether only this machine can call: the host is a loopback one, and no public address is claimed. */
const isPrivate = (host: string, publicUrl: Option.Option<string>): boolean =>
  Option.isNone(publicUrl) && (host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host))

/** Where nothing can be paid, an allowance has no bound unless the operator sets one: it would end all use. */
export const monthlyAllowanceOf = ({ monthlyAllowanceCredits, payments: { networks } }: ServerConfig) =>
  Option.match(monthlyAllowanceCredits, {
    onSome: credits,
    onNone: () => (networks.length === 0 ? undefined : credits(monthlyAllowanceDefault))
  })

/** On a private address every wallet may open an account, with the allowance of all; elsewhere none may. */
export const signUpOf = (
  config: ServerConfig
): { readonly mode: SignUpMode; readonly allowance: MicroCredits | undefined } => {
  const isOpen = isPrivate(config.host, config.publicUrl)
  return {
    mode: Option.getOrElse(config.walletSignUp, () => (isOpen ? "open" : "off")),
    allowance: Option.match(config.walletAllowanceCredits, {
      onSome: credits,
      onNone: () => (isOpen ? monthlyAllowanceOf(config) : credits(0))
    })
  }
}

/** Undefined: operators sign in without a provider. */
export const openIdOf = ({ openId }: ServerConfig): Effect.Effect<OpenIdSettings | undefined, OpenIdMisconfigured> => {
  const { clientId, clientSecret, issuer, rules, scope } = openId
  if (Option.isNone(issuer)) return Effect.undefined
  if (Option.isNone(clientId)) return Effect.fail(new OpenIdMisconfigured({ missing: "MUNIMENT_OPENID_CLIENT_ID" }))
  if (rules.length === 0) return Effect.fail(new OpenIdMisconfigured({ missing: "MUNIMENT_OPENID_ROLES" }))
  const secret = Option.getOrUndefined(clientSecret)
  return Effect.succeed({ issuer: issuer.value, clientId: clientId.value, clientSecret: secret, scope, rules })
}

/** Nobody could sign in. */
export class OpenIdMisconfigured extends Data.TaggedError("OpenIdMisconfigured")<{ readonly missing: string }> {
  override get message(): string {
    return `MUNIMENT_OPENID_ISSUER needs ${this.missing} too`
  }
}

export const booksOptionsOf = (config: ServerConfig): BooksOptions => ({
  monthlyAllowance: monthlyAllowanceOf(config),
  walletAllowance: { monthly: signUpOf(config).allowance }
})

export const ServerConfig = Config.all({
  ...address,
  /** First key of the operator's account, instead of a generated one. */
  bootstrapKey: secretOf("MUNIMENT_BOOTSTRAP_KEY").pipe(Config.option),
  /** Token of the operator routes, instead of a generated one. */
  operatorToken: Config.Redacted("MUNIMENT_OPERATOR_TOKEN").pipe(Config.option),
  serviceName: textOf(
    "MUNIMENT_SERVICE_NAME",
    /^[a-z0-9][a-z0-9.-]*$/,
    "lower-case letters, digits, dots and hyphens"
  ).pipe(Config.withDefault("muniment")),
  apiKeyPrefix: textOf("MUNIMENT_API_KEY_PREFIX", /^[\w-]*$/, "letters, digits, underscores and hyphens").pipe(
    Config.withDefault("mun_")
  ),
  /** `auto` takes the best model that is there; `none` searches by words alone. */
  embeddingModel: Config.Literals(["auto", "none", ...modelIds], "MUNIMENT_EMBEDDING_MODEL").pipe(
    Config.withDefault("auto")
  ),
  /** Undefined: one a processor, at most four. */
  embeddingThreads: integer("MUNIMENT_EMBEDDING_THREADS", 1).pipe(Config.option),
  modelsDirectory: Config.String("MUNIMENT_MODELS_DIR").pipe(
    Config.withDefault("./models"),
    Config.map((path) => resolve(path))
  ),
  index: Config.Literals(indexPins, "MUNIMENT_INDEX").pipe(Config.withDefault("auto")),
  /** A cross-encoder that re-ranks the best hits: a folder, a file, or a name on the hub. */
  reranker: Config.String("MUNIMENT_RERANKER").pipe(Config.option),
  /** How a search is carried out that does not say it. */
  recall: Config.Literals(["fast", "strict"], "MUNIMENT_RECALL").pipe(Config.withDefault("fast")),
  /** Name in `issuer` of attestations; default: the service's name. */
  issuer: Config.String("MUNIMENT_ISSUER").pipe(Config.option),
  /** Prefixes of signed grants beside the service's own `<service>:grant:v1:`; comma-separated. */
  grantPrefixes: nameList("MUNIMENT_GRANT_PREFIXES"),
  /** Other names under which the key file is published; comma-separated. */
  keyFileAliases: nameList("MUNIMENT_KEY_FILE_ALIASES"),
  /** Plan of accounts that wallets open by themselves. */
  walletPlan: Config.Literals(["free", "starter", "pro", "owner"], "MUNIMENT_WALLET_PLAN").pipe(
    Config.withDefault("free")
  ),
  /** Whether wallets open accounts by themselves; default: `signUpOf`. */
  walletSignUp: Config.Literals(signUpModes, "MUNIMENT_WALLET_SIGNUP").pipe(Config.option),
  /** Credits that such an account may spend each month for nothing; default: `signUpOf`. */
  walletAllowanceCredits: integer("MUNIMENT_WALLET_ALLOWANCE", 0).pipe(Config.option),
  /** Proxies whose `X-Forwarded-For` is believed: addresses or ranges; comma-separated. */
  trustedProxies: nameList(
    "MUNIMENT_TRUSTED_PROXIES",
    { test: isAddressRange },
    "addresses or ranges such as 10.0.0.0/8, separated by commas"
  ),
  /** Which signed statements have to name this service: requests, grants. */
  requireAudience: Config.Literals(audienceRules, "MUNIMENT_REQUIRE_AUDIENCE").pipe(Config.withDefault("off")),
  /** Whether contract wallets may sign (ERC-1271): the EVM node is asked. */
  erc1271: Config.Literals(["off", "on"], "MUNIMENT_ERC1271").pipe(Config.withDefault("off")),
  /** EVM chain: payments, and where contract wallets are asked. */
  evmRpcUrl: httpUrl("MUNIMENT_EVM_RPC_URL").pipe(Config.map(Option.map((urls) => urls.split(",")[0] ?? urls))),
  /** Public URL, as in https://memory.example.com; default: the Host header. */
  publicUrl: httpUrl("MUNIMENT_PUBLIC_URL").pipe(Config.map(Option.map((url) => url.replace(/\/+$/, "")))),
  /** The console for browsers; `remote`: operators sign in from other machines too, by an https public URL. */
  console: Config.Literals(["on", "off", "remote"], "MUNIMENT_CONSOLE").pipe(Config.withDefault("on")),
  /** OpenID Connect provider by which operators sign in to the console. */
  openId: Config.all({
    issuer: textOf("MUNIMENT_OPENID_ISSUER", openIdIssuer, "an https URL, or http on this machine").pipe(Config.option),
    clientId: Config.NonEmptyString("MUNIMENT_OPENID_CLIENT_ID").pipe(Config.option),
    clientSecret: Config.Redacted("MUNIMENT_OPENID_CLIENT_SECRET").pipe(Config.option),
    scope: textOf("MUNIMENT_OPENID_SCOPE", /(?:^|\s)openid(?:\s|$)/, "scopes with openid among them").pipe(
      Config.withDefault("openid email")
    ),
    rules: nameList(
      "MUNIMENT_OPENID_ROLES",
      { test: (text) => openIdRule(text) !== undefined },
      "claim=value:role, separated by commas, with the role viewer, maintainer or admin"
    ).pipe(Config.map((texts) => texts.flatMap((text) => openIdRule(text) ?? [])))
  }),
  /** Origins of web pages that may call `/v1`; `*` for all; comma-separated. */
  corsOrigins: nameList(
    "MUNIMENT_CORS_ORIGINS",
    /^(?:\*|https?:\/\/[^\s/?#]+)$/,
    "* or origins without a path, such as https://app.example.com"
  ),
  /** Credits that every account may spend each month for nothing. */
  monthlyAllowanceCredits: integer("MUNIMENT_MONTHLY_ALLOWANCE", 0).pipe(Config.option),
  /** One line for each request, without content. */
  requestLog: Config.Literals(["on", "off"], "MUNIMENT_REQUEST_LOG").pipe(Config.withDefault("off")),
  /** How long calls of accounts are kept for the operator; 0: the last ones, in memory. */
  requestDays: integer("MUNIMENT_REQUEST_DAYS", 0).pipe(Config.withDefault(30)),
  /** Collector of traces over OTLP, without the path; none by default. */
  otlpUrl: httpUrl("MUNIMENT_OTLP_URL"),
  /** The longest expected wait of a request that is let in. */
  queueWaitMillis: integer("MUNIMENT_QUEUE_WAIT_MILLIS", 1).pipe(Config.withDefault(Limits.queueWaitMillis)),
  rateLimits: Config.Literals(["on", "off"], "MUNIMENT_RATE_LIMITS").pipe(Config.withDefault("on")),
  payments,
  webhook,
  /** Addresses that webhooks of accounts may use: public ones, all, or none. */
  accountWebhooks: Config.Literals(hookReaches, "MUNIMENT_ACCOUNT_WEBHOOKS").pipe(
    Config.withDefault("public" as const)
  ),
  /** Whether conversations leave messages behind, unless the request or the account says otherwise. */
  remember: Config.Literals(Remember.literals, "MUNIMENT_REMEMBER").pipe(Config.withDefault("messages" as const)),
  /** How long a conversation waits for rules that read nothing else. */
  readingWaitMillis: integer("MUNIMENT_READING_WAIT_MILLIS", 1).pipe(
    Config.withDefault(Limits.extractionPatienceMillis)
  ),
  llm,
  consolidation,
  logLevel: Config.Literals(["Debug", "Info", "Warn", "Error"], "MUNIMENT_LOG_LEVEL").pipe(Config.withDefault("Info")),
  /** Backups that the service makes by itself. */
  backup: Config.all({
    to: Config.NonEmptyString("MUNIMENT_BACKUP_TO").pipe(Config.option),
    every: integer("MUNIMENT_BACKUP_HOURS", 0).pipe(Config.withDefault(24)),
    keep: integer("MUNIMENT_BACKUP_KEEP", 1).pipe(Config.withDefault(14)),
    passphraseFile: Config.NonEmptyString("MUNIMENT_BACKUP_PASSPHRASE_FILE").pipe(Config.option)
  }),
  /** The round that reads all files. */
  scrub: Config.all({
    days: integer("MUNIMENT_SCRUB_DAYS", 0).pipe(Config.withDefault(7)),
    mebibytesPerSecond: integer("MUNIMENT_SCRUB_MIB_PER_SECOND", 1).pipe(Config.withDefault(8))
  }),
  cluster: ClusterVariables,
  openNamespacesMax: integer("MUNIMENT_OPEN_NAMESPACES", 1).pipe(Config.withDefault(1_024))
})

export type ServerConfig = Config.Success<typeof ServerConfig>

/** Lines for people on a terminal, JSON elsewhere. */
export const serviceLogger = Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson])
