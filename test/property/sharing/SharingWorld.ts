/**
 * Accounts full of made-up memories over the real services of one server, for properties of sharing:
 * two owners who grant, a grantee, and accounts that hold nothing but copies of what he may see.
 */
import { Effect, Layer, ManagedRuntime, ConfigProvider, References } from "effect"
import fc from "fast-check"
import type { Account } from "@muniment/domain/Account"
import type { Identity } from "@muniment/domain/Identity"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import type { SearchHit } from "@muniment/domain/Memory"
import type { MemoryFilter, Scope } from "@muniment/domain/Search"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { serverLayer } from "@muniment/server/ServerLayer"
import { ServerConfig } from "@muniment/server/Config"
import { freeCall } from "@muniment/server/credits/ChargedCalls"
import { MemoryService } from "@muniment/server/memories/MemoryService"
import { CallerSearch } from "@muniment/server/search/CallerSearch"
import { SharedAccess } from "@muniment/server/search/SharedAccess"
import type { WalletSigner } from "@muniment/trust/WalletSigner"
import { freePort } from "../../support/TestServer.ts"
import { grantsHeader, nowSeconds, signedGrant } from "../../support/TrustCalls.ts"

/** The services of a server over a directory, without its listener; words alone. */
export const servicesOf = (directory: string) => {
  const services = Effect.gen(function* () {
    const env = {
      MUNIMENT_DATA_DIR: directory,
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_INDEX: "exact",
      // Looked at before anything is opened, though nothing listens there.
      MUNIMENT_PORT: String(yield* Effect.promise(freePort))
    }
    return serverLayer(yield* ServerConfig.parse(ConfigProvider.fromEnv({ env })), undefined)
  })
  return ManagedRuntime.make(
    Layer.unwrap(services).pipe(Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")))
  )
}

/** Mostly absent: every filter and every part of a grant narrows, and empty answers compare nothing. */
const maybe = <A>(arbitrary: fc.Arbitrary<A>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const text = fc
  .array(fc.constantFrom("tea", "milk", "lisbon", "sea", "monday"), { minLength: 1, maxLength: 5 })
  .map((words) => words.join(" "))
const agentId = fc.constantFrom("x", "y")
const subjectId = fc.constantFrom("s", "t")
const tag = fc.constantFrom("a", "b")

export const memoryArbitrary = fc.record({
  /** 2 is the grantee himself. */
  owner: fc.nat(2),
  agentId,
  subjectId: maybe(subjectId),
  threadId: maybe(fc.constant("thread")),
  text,
  /** One of a unique kind: a later one with the same key takes its place. */
  key: maybe(fc.constantFrom("k", "l")),
  tags: fc.uniqueArray(tag, { maxLength: 2 }),
  isExpired: fc.integer({ min: 0, max: 5 }).map((die) => die === 0)
})
export type MadeMemory = typeof memoryArbitrary extends fc.Arbitrary<infer A> ? A : never

/** What a grant names, and whether it is good; all of them for the grantee unless `flaw` says otherwise. */
export const grantArbitrary = fc.record({
  owner: fc.nat(1),
  a: maybe(agentId),
  u: maybe(subjectId),
  /** Whether it shows superseded versions. */
  h: fc.boolean(),
  flaw: fc.oneof(
    { weight: 3, arbitrary: fc.constant("none" as const) },
    fc.constantFrom("expired", "for another", "widened", "revoked", "restricted")
  )
})
export type MadeGrant = typeof grantArbitrary extends fc.Arbitrary<infer A> ? A : never

export const queryArbitrary = fc.record({
  text,
  filter: fc.record({
    agentId: maybe(agentId),
    subjectId: maybe(subjectId),
    threadId: maybe(fc.constantFrom("thread", "none")),
    kind: maybe(fc.constantFrom("factual_memory", "note", "none")),
    tags: maybe(fc.uniqueArray(tag, { minLength: 1, maxLength: 2 }))
  }),
  limit: fc.constantFrom(1, 3, 100),
  minRelevance: fc.constantFrom(0, 0.05)
})
export type MadeQuery = typeof queryArbitrary extends fc.Arbitrary<infer A> ? A : never

export const identityOf = (account: Account): Identity => ({ account, keyId: undefined })

/** The account of a wallet; `note` has a unique key for owners, and none where copies must stand side by side. */
export const accountFor = Effect.fnUntraced(function* (signer: WalletSigner, uniqueOn: ReadonlyArray<string> = []) {
  const account = yield* (yield* Wallets).ensureAccount(signer.wallet)
  const registry = yield* SchemaRegistry
  yield* registry.register(account.id, { name: "note", description: "d", uniqueOn, schema: '{"type":"object"}' })
  return account
})

/** `number` makes the content, and with it the content hash, unlike any other. */
export const store = Effect.fnUntraced(function* (account: Account, number: number, made: MadeMemory) {
  const { agentId, subjectId, threadId, key, text, tags, isExpired } = made
  const memories = yield* MemoryService
  const data = { subject: `number${number}`, fact: text }
  const memory = key === undefined ? { kind: "factual_memory", data } : { kind: "note", data: { ...data, key } }
  const { created } = yield* memories.create(freeCall(identityOf(account), undefined), {
    agentId,
    ...(subjectId !== undefined && { subjectId }),
    ...(threadId !== undefined && { threadId }),
    memories: [isExpired ? { ...memory, expiresAt: 1 } : memory]
  })
  const { id } = created[0]!
  if (tags.length > 0 && !isExpired) yield* memories.patch(freeCall(identityOf(account), undefined), id, { tags })
})

/** Those that nobody may see any more are left out: expired, or with a later live version. */
export const livingOf = (all: ReadonlyArray<MadeMemory>, includeSuperseded: boolean) => {
  const chainOf = ({ owner, agentId, subjectId, key }: MadeMemory) => JSON.stringify([owner, agentId, subjectId, key])
  const latest = new Map(
    all.flatMap((made, number) => (made.key === undefined || made.isExpired ? [] : [[chainOf(made), number] as const]))
  )
  return new Set(
    all.flatMap((made, number) => {
      const isLatest = made.key === undefined || latest.get(chainOf(made)) === number
      return made.isExpired || !(isLatest || includeSuperseded) ? [] : [number]
    })
  )
}

/** Whether one of the good grants lets the grantee see it. */
export const isGranted = (made: MadeMemory, grants: ReadonlyArray<MadeGrant>): boolean =>
  grants.some(
    ({ owner, a, u, flaw }) =>
      flaw === "none" &&
      owner === made.owner &&
      (a === undefined || a === made.agentId) &&
      (u === undefined || u === made.subjectId)
  )

const defined = <A extends object>(members: A) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** A real grant with its flaw; revoked ones are taken back with the service. `salt` tells like ones apart. */
export const grantFor = Effect.fnUntraced(function* (
  signer: WalletSigner,
  owner: Account,
  grantee: string,
  { a, u, h, flaw }: MadeGrant,
  salt: number
) {
  const payload = {
    ...defined({ a, u }),
    h,
    g: flaw === "for another" ? `${grantee}x` : grantee,
    e: flaw === "expired" ? nowSeconds() - salt : nowSeconds() + 3_600 + salt,
    ...(flaw === "restricted" && { k: "factual_memory" })
  }
  const grant = yield* Effect.promise(() => signedGrant(signer, payload))
  if (flaw === "revoked") yield* (yield* SharedAccess).revoke(identityOf(owner), grant)
  if (flaw !== "widened") return grant
  const { a: _agent, u: _subject, ...wider } = grant.p
  const changed: GrantPayload = { ...wider, e: wider.e + 1 }
  return { ...grant, p: changed } satisfies Grant
})

export const recall = Effect.fnUntraced(function* (
  account: Account,
  scope: typeof Scope.Type,
  grants: ReadonlyArray<Grant>,
  queries: ReadonlyArray<MadeQuery & { readonly filter: MemoryFilter }>
) {
  const searches = yield* CallerSearch
  const reach = { scope, grants: grantsHeader(grants)["x-grants"] }
  const found = yield* searches.searchBatch(freeCall(identityOf(account), undefined), {
    ...reach,
    queries: queries.map((query) => ({
      mode: "llm",
      candidates: undefined,
      askedAtMillis: undefined,
      timeZone: undefined,
      newerFirst: true,
      turnsAround: 0,
      rerank: undefined,
      recall: undefined,
      explain: true,
      ...query,
      ...reach
    }))
  })
  return { results: found.results.map(({ memories }) => memories), sourceAttestations: found.sourceAttestations }
})

/** Which memory it is, by its content, and how it was ranked. */
export const ranking = (found: ReadonlyArray<SearchHit>) =>
  found.map(({ data, quality, explain }) => [data["subject"], quality.relevance, explain?.lexical, explain?.rank])
