/** Wallets: the first signature makes one account, an operator may link others, nothing moves by itself. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import type { WalletAddress } from "@muniment/trust/WalletAddress"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlLayerOf } from "../ControlLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => controlLayerOf(temporaryDirectory()))

const evm: WalletAddress = { family: "evm", address: `0x${"ab".repeat(20)}` }
const sol: WalletAddress = { family: "sol", address: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin" }

describe("Wallets", () => {
  fresh.effect(
    "makes the account of a wallet at its first signature: named by the address, on the free plan",
    function* () {
      const wallets = yield* Wallets
      yield* TestClock.setTime(1_700_000_000_000)
      expect(yield* wallets.accountOf(evm.address)).toBeUndefined()
      const made = yield* wallets.ensureAccount(evm)
      expect(made).toEqual({ id: evm.address, name: evm.address, plan: "free", createdAt: 1_700_000_000_000 })
      expect(yield* wallets.accountOf(evm.address)).toEqual(made)
      expect(yield* wallets.ensureAccount(evm, "pro")).toEqual(made)
      expect(yield* wallets.ensureAccount(sol, "starter")).toMatchObject({ id: sol.address, plan: "starter" })
      expect(yield* wallets.addressesOf(evm.address)).toEqual([evm.address])
    }
  )

  fresh.effect("makes one account for many first signatures at once", function* () {
    const wallets = yield* Wallets
    const firsts = Array.from({ length: 100 }, () => wallets.ensureAccount(evm))
    const made = yield* Effect.all(firsts, { concurrency: "unbounded" })
    expect(new Set(made.map(({ id }) => id))).toEqual(new Set([evm.address]))
    expect(yield* Accounts.use((accounts) => accounts.list)).toHaveLength(1)
  })

  fresh.effect(
    "takes the webhooks that a wallet made with it when it is unlinked, and lets it make none behind that",
    function* () {
      const wallets = yield* Wallets
      const hooks = yield* AccountHooks
      const { id } = yield* wallets.ensureAccount(evm)
      const hook = { url: "https://example.com/", secret: "sealed", cursor: "0" }
      yield* hooks.add(id, { ...hook, madeBy: evm.address })
      const kept = yield* hooks.add(id, { ...hook, madeBy: undefined })
      yield* wallets.unlink(evm.address)
      const late = yield* Effect.flip(hooks.add(id, { ...hook, madeBy: evm.address }))
      expect(late).toMatchObject({ _tag: "Unauthenticated", code: "invalid_api_key" })
      expect((yield* hooks.list(id)).map((each) => each.id)).toEqual([kept.id])
    }
  )

  it.effect("opens the account that the operator linked, also after a restart", function* () {
    const directory = temporaryDirectory()
    const account = yield* Effect.gen(function* () {
      const wallets = yield* Wallets
      const account = yield* Accounts.use((accounts) => accounts.create("alice", { plan: "pro" }))
      yield* wallets.link(evm, account.id)
      yield* TestClock.adjust("1 second")
      yield* wallets.link(sol, account.id)
      yield* wallets.link(evm, account.id)
      return account
    }).pipe(Effect.provide(controlLayerOf(directory)))
    yield* Effect.gen(function* () {
      const wallets = yield* Wallets
      expect(yield* wallets.ensureAccount(evm)).toEqual(account)
      expect(yield* wallets.addressesOf(account.id)).toEqual([evm.address, sol.address])
      expect(yield* Accounts.use((accounts) => accounts.list)).toHaveLength(1)
    }).pipe(Effect.provide(controlLayerOf(directory)))
  })

  fresh.effect("refuses to link a wallet that opens another account, or to an account that is not there", function* () {
    const wallets = yield* Wallets
    const account = yield* Accounts.use((accounts) => accounts.create("alice"))
    yield* wallets.ensureAccount(evm)
    expect(yield* Effect.flip(wallets.link(evm, account.id))).toMatchObject({ _tag: "Conflict", code: "id_conflict" })
    expect(yield* Effect.flip(wallets.link(sol, "acc_none"))).toMatchObject({ code: "account_not_found" })
    expect(yield* wallets.accountOf(evm.address)).toMatchObject({ id: evm.address })
    expect(yield* wallets.accountOf(sol.address)).toBeUndefined()
  })

  fresh.effect(
    "gives a wallet its own account beside one that only bears its name, and the one that has its id",
    function* () {
      const wallets = yield* Wallets
      const { create } = yield* Accounts
      const named = yield* create(evm.address)
      const own = yield* create("restored", { id: sol.address, plan: "pro" })
      const made = yield* wallets.ensureAccount(evm)
      expect(made).toMatchObject({ id: evm.address, name: `wallet:${evm.address}` })
      expect(made.id).not.toBe(named.id)
      expect(yield* wallets.ensureAccount(sol)).toEqual(own)
    }
  )
})
