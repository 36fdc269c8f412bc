/** Types of what the operator's pages request, and small sums over them. */
import type { AccountRecord, KeyRecord, ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { PaymentRecord, PaymentState } from "@muniment/domain/Operations"
import type { QuotaName } from "@muniment/domain/Plans"
import { type Answer, call } from "./api.ts"
import { now } from "./browser.ts"
import { session } from "./session.ts"
import { bytes, moment } from "./text.ts"
import { count } from "./words.ts"

type ModelProblem = NonNullable<ServiceStatus["extraction"]["problem"]>

/** Why a language model gives no answers, and what can be done. */
export const modelProblemText = (model: string, { message, remedy, since }: ModelProblem): string =>
  `The language model ${model} has given no usable answer since ${moment(since)}: ${message}. What helps: ${remedy}.`

export type Account = typeof AccountRecord.Type
export type Key = KeyRecord

export interface AccountEntry extends Account {
  /** Keys that work. */
  readonly keys: number
  /** Last use of its keys, in milliseconds; undefined: none was used. */
  readonly lastUsedAt: number | undefined
}

export const listAccounts = async (signal: AbortSignal): Promise<ReadonlyArray<AccountEntry>> => {
  const [{ accounts }, keys] = await Promise.all([
    call("GET", "/admin/accounts", { signal }),
    listKeys(undefined, signal)
  ])
  const byAccount = Map.groupBy(keys, ({ account }) => account)
  return accounts.map((account) => {
    const own = byAccount.get(account.name) ?? []
    const lastUsedAt = own.reduce((latest, key) => Math.max(latest, key.lastUsedAt ?? 0), 0)
    return {
      ...account,
      keys: own.filter(works).length,
      lastUsedAt: lastUsedAt === 0 ? undefined : lastUsedAt
    }
  })
}

export const accountsById = async (signal: AbortSignal): Promise<ReadonlyMap<string, Account>> => {
  const { accounts } = await call("GET", "/admin/accounts", { signal })
  return new Map(accounts.map((account) => [account.id, account]))
}

/** Of one account or of all; an account's own are those that it sees. */
export const listKeys = async (account: string | undefined, signal: AbortSignal): Promise<ReadonlyArray<Key>> =>
  session.value?.role === "account"
    ? (await call("GET", "/v1/keys", { signal })).keys
    : (await call("GET", "/admin/keys", { query: { account }, signal })).keys

export type KeyLabels = ReadonlyMap<string, string>

/** Labels of all keys that the caller may see, by their ids. */
export const keyLabels = async (signal: AbortSignal): Promise<KeyLabels> =>
  new Map((await listKeys(undefined, signal)).map(({ id, label }) => [id, label]))

export const works = ({ expiresAt, revokedAt }: Key): boolean =>
  revokedAt === undefined && (expiresAt === undefined || expiresAt > now())

/** Keys that go with this one: those that it made, and those that they made. */
export const madeBy = (key: Key, all: ReadonlyArray<Key>): ReadonlyArray<Key> =>
  all.flatMap((other) => (other.madeBy === key.id && works(other) ? [other, ...madeBy(other, all)] : []))

export type ShownQuotas = Answer<"GET /admin/quotas">

export const quotaNames: Readonly<Record<QuotaName, string>> = {
  bytes: "Bytes of memories",
  schemas: "Schemas",
  schemaBytes: "Bytes of schemas",
  agents: "Agents",
  keys: "Keys",
  openRequests: "Open requests"
}

export const quotaText = (name: QuotaName): ((value: number) => string) =>
  name === "bytes" || name === "schemaBytes" ? bytes : count

const credits = new Intl.NumberFormat("en-US", { maximumFractionDigits: 6 })

/** Text of credits, with as many decimals as they have. */
export const amount = (value: number): string => credits.format(value)

const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const fractions = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 6 })

/** Less than a dollar has as many decimals as it has, so that costs of single agents can be compared. */
export const dollars = (value: number): string => (Math.abs(value) < 1 ? fractions : cents).format(value)

const unfinished: ReadonlyArray<PaymentState> = ["broadcasting", "verified"]
const paymentsAtMost = 1_000

/** Those without an outcome first, the oldest of them before the others; then the newest. */
export const listPayments = async (
  filters: { readonly state: string; readonly account: string },
  signal: AbortSignal
): Promise<ReadonlyArray<PaymentRecord>> => {
  const accounts = await accountsById(signal)
  const list = async (state: string): Promise<ReadonlyArray<PaymentRecord>> => {
    const query = { state, account: filters.account, limit: paymentsAtMost }
    const { payments } = await call("GET", "/admin/payments", {
      query,
      signal
    })
    return payments.map((payment) => ({ ...payment, account: accounts.get(payment.account)?.name ?? payment.account }))
  }
  if (filters.state !== "") return list(filters.state)
  const [waiting, all] = await Promise.all([Promise.all(unfinished.map(list)), list("")])
  return [
    ...waiting.flat().sort((one, other) => one.createdAt - other.createdAt),
    ...all.filter(({ state }) => !unfinished.includes(state))
  ]
}

export const checkLedger = (signal: AbortSignal) => call("GET", "/admin/ledger/check", { signal })

/** Name of a purse in the ledger: its kind and the id of its account. */
export const purseName = /^(liability:credits|liability:allowance|expense:own-use|asset:receivable):(.+)$/
