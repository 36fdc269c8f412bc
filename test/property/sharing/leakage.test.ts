/**
 * What is shared is exactly what was granted: for random memories, grants and filters the grantee finds
 * what the owner finds by his own search within the grant, in the same order with the same relevance.
 * Hence nothing hidden shows, in the results or through the statistics behind them.
 */
import { Effect, type ManagedRuntime } from "effect"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { chosenSeed } from "../../support/SeededRandom.ts"
import { evmWallet, solWallet } from "../../support/TrustCalls.ts"
import { temporaryDirectory } from "../../component/sqlite/TemporaryDirectory.ts"
import {
  accountFor,
  grantArbitrary,
  grantFor,
  isGranted,
  livingOf,
  memoryArbitrary,
  queryArbitrary,
  ranking,
  recall,
  servicesOf,
  store,
  type MadeGrant,
  type MadeMemory,
  type MadeQuery
} from "./SharingWorld.ts"
import { repetitions } from "../../support/Repetitions.ts"

const seed = chosenSeed()
const services = servicesOf(temporaryDirectory())
afterAll(() => services.dispose())

const numRuns = repetitions(40)
const grantee = 2
let worlds = 0

/** The owners, the grantee and their memories, in accounts that no other run has; and the grants. */
const settle = Effect.fnUntraced(function* (made: ReadonlyArray<MadeMemory>, madeGrants: ReadonlyArray<MadeGrant>) {
  const world = ++worlds
  const signers = [evmWallet(`owner ${world}`), solWallet(`owner ${world}`), evmWallet(`grantee ${world}`)]
  const accounts = yield* Effect.forEach(signers, (signer) => accountFor(signer, ["key"]))
  for (const [number, memory] of made.entries()) yield* store(accounts[memory.owner]!, number, memory)
  const grants = yield* Effect.forEach(madeGrants, (grant, salt) =>
    grantFor(signers[grant.owner]!, accounts[grant.owner]!, signers[grantee]!.wallet.address, grant, salt)
  )
  /** An account that holds copies of some of the memories, in their order, each of them latest. */
  const copyOf = Effect.fnUntraced(function* (name: string, isCopied: (memory: MadeMemory, number: number) => boolean) {
    const account = yield* accountFor(evmWallet(`${name} ${world}`))
    for (const [number, memory] of made.entries()) {
      if (isCopied(memory, number)) yield* store(account, number, memory)
    }
    return account
  })
  return { accounts, grants, copyOf }
})

const world = fc.record({
  made: fc.array(memoryArbitrary, { minLength: 1, maxLength: 24, size: "max" }),
  madeGrants: fc.array(grantArbitrary, { minLength: 1, maxLength: 6, size: "max" }),
  queries: fc.array(queryArbitrary, { minLength: 4, maxLength: 4 }),
  includeSuperseded: fc.boolean()
})
type World = typeof world extends fc.Arbitrary<infer A> ? A : never

const withHistory = ({ queries, includeSuperseded }: World) =>
  queries.map((query): MadeQuery & { readonly filter: { readonly includeSuperseded: boolean } } => ({
    ...query,
    filter: { ...query.filter, includeSuperseded }
  }))

type Services = typeof services extends ManagedRuntime.ManagedRuntime<infer R, unknown> ? R : never

/** `property` says how many memories it compared: a run of empty results would prove nothing. */
const check = async (property: (world: World) => Effect.Effect<number, unknown, Services>) => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(world, async (given) => {
      compared += await services.runPromise(property(given))
    }),
    { numRuns, seed }
  )
  expect(compared).toBeGreaterThan(0)
}

describe(`what the grantee finds (seed ${seed})`, () => {
  it("under one grant is what the owner finds by his own search within it", () =>
    check(
      Effect.fnUntraced(function* (given) {
        const { accounts, grants } = yield* settle(given.made, given.madeGrants)
        let compared = 0
        for (const [at, { owner, a, u, h, flaw }] of given.madeGrants.entries()) {
          for (const query of withHistory(given)) {
            const { filter } = query
            const shared = yield* recall(accounts[grantee]!, "shared", [grants[at]!], [query])
            const isContradiction =
              (a !== undefined && filter.agentId !== undefined && a !== filter.agentId) ||
              (u !== undefined && filter.subjectId !== undefined && u !== filter.subjectId)
            if (flaw !== "none" || isContradiction) {
              expect(shared).toEqual({ results: [[]], sourceAttestations: undefined })
              continue
            }
            const includeSuperseded = filter.includeSuperseded && h
            const within = {
              ...filter,
              includeSuperseded,
              agentId: a ?? filter.agentId,
              subjectId: u ?? filter.subjectId
            }
            const own = yield* recall(accounts[owner]!, "own", [], [{ ...query, filter: within }])
            const [found, expected] = [shared.results[0]!, own.results[0]!]
            expect(ranking(found)).toEqual(ranking(expected))
            expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
            compared += found.length
          }
        }
        return compared
      })
    ))

  it("under all grants together is what an account with nothing but the granted memories finds", () =>
    check(
      Effect.fnUntraced(function* (given) {
        const { accounts, grants, copyOf } = yield* settle(given.made, given.madeGrants)
        const living = livingOf(given.made, given.includeSuperseded)
        const latest = livingOf(given.made, false)
        const isShared = (memory: MadeMemory, number: number) =>
          living.has(number) &&
          isGranted(
            memory,
            given.madeGrants.filter(({ h }) => h || latest.has(number))
          )
        const sharedAlone = yield* copyOf("shared", isShared)
        const withOwn = yield* copyOf(
          "all",
          (memory, number) => isShared(memory, number) || (living.has(number) && memory.owner === grantee)
        )
        const queries = withHistory(given)
        let compared = 0
        for (const [scope, copies] of [
          ["shared", sharedAlone],
          ["all", withOwn]
        ] as const) {
          const { results, sourceAttestations = {} } = yield* recall(accounts[grantee]!, scope, grants, queries)
          const expected = yield* recall(copies, "own", [], queries)
          expect(results.map(ranking)).toEqual(expected.results.map(ranking))
          for (const found of results.flat()) {
            const isOwn = given.made[Number(String(found.data["subject"]).slice("number".length))]!.owner === grantee
            expect(found.source).toBe(isOwn ? "own" : "shared")
          }
          const grantors = results.flat().flatMap(({ grantor }) => (grantor === undefined ? [] : [grantor]))
          expect(Object.keys(sourceAttestations).toSorted()).toEqual([...new Set(grantors)].toSorted())
          compared += grantors.length
        }
        return compared
      })
    ))

  it("under scope `own` is what he finds without any grant", () =>
    check(
      Effect.fnUntraced(function* (given) {
        const { accounts, grants } = yield* settle(given.made, given.madeGrants)
        const queries = withHistory(given)
        const granted = yield* recall(accounts[grantee]!, "own", grants, queries)
        expect(granted).toEqual(yield* recall(accounts[grantee]!, "all", [], queries))
        const others = given.madeGrants.map((grant) => ({ ...grant, flaw: "for another" as const }))
        const unusable = yield* Effect.forEach(others, (grant, salt) =>
          grantFor(evmWallet("nobody"), accounts[0]!, "x", grant, salt)
        )
        expect(yield* recall(accounts[grantee]!, "all", unusable, queries)).toEqual(granted)
        return granted.results.flat().length
      })
    ))
})
