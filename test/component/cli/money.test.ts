/** Commands about money but `deposit`: what they ask of the service, what they print, how they end. */
import { describe, expect, it } from "vitest"
import { evmAddresses, evmKeys } from "../../../scripts/devchains/Wallets.ts"
import { evm, evmKey, KeyFiles } from "./KeyFiles.ts"
import { ok, operatorToken, refused, runCli } from "./runCli.ts"

const at = 1_763_716_440_000

describe("credits", () => {
  const account = ok({
    balance: { credits: 499.99667, usd: 0.49999667 },
    allowance: { credits: 988, monthly: 1_000, renewsAt: at },
    plan: "free",
    insuredUntil: at
  })
  const movements = ok({
    transactions: [
      { id: 2, at, kind: "charge", operation: "search", purse: "allowance", credits: -2 },
      { id: 1, at, kind: "deposit", purse: "balance", credits: 500 }
    ],
    nextCursor: "c"
  })

  it("shows balance, allowance, plan and insurance", async () => {
    const run = await runCli(
      (url) => ["credits", "--api-key", "mun_alice", "--url", url],
      () => account
    )
    expect(run.out).toBe(
      [
        "balance    499.99667 credits (0.49999667 USD)",
        "allowance  988 of 1000 credits, renewed 2025-11-21 09:14 UTC",
        "plan       free",
        "insured    until 2025-11-21 09:14 UTC, if nothing changes"
      ].join("\n")
    )
    expect(run.requests[0]).toMatchObject({ url: "/v1/credits", headers: { authorization: "Bearer mun_alice" } })
  })

  it("--transactions lists transactions with their signs", async () => {
    using files = new KeyFiles()
    const run = await runCli(
      (url) => ["credits", "--key-file", files.write("key", evmKey), "--url", url, "--transactions", "--limit", "2"],
      (_, index) => (index === 0 ? account : movements)
    )
    expect(run.requests.map(({ url }) => url)).toEqual(["/v1/credits", "/v1/credits/transactions?limit=2"])
    expect(run.requests[1]?.headers["x-wallet-address"]).toBe(evm.wallet.address)
    expect(run.out).toMatch(/-2 +allowance +charge +search/)
    expect(run.out).toMatch(/\+500 +balance +deposit/)
    expect(run.out).toContain("older transactions")
  })

  it("asks whose credits when nobody is named", async () => {
    const run = await runCli(["credits"], () => account)
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("--api-key or --key-file") })
  })
})

describe("ledger", () => {
  const report = {
    ok: true,
    problems: [],
    accounts: 2,
    transfers: 1,
    balances: [
      { name: "asset:usdc:base-sepolia", debits: 500_000_000, credits: 0 },
      { name: "liability:credits:acc_1", debits: 3_330, credits: 500_000_000 }
    ],
    payments: { settled: 1, failed: 0 }
  }

  it("check shows what each account stands at, and proves it as the operator", async () => {
    const run = await runCli(["ledger", "check"], () => ok(report))
    expect(run.isSuccess).toBe(true)
    expect(run.requests[0]).toMatchObject({
      url: "/admin/ledger/check",
      headers: { authorization: `Bearer ${operatorToken}` }
    })
    expect(run.out).toMatch(/asset:usdc:base-sepolia +500 +0 +500 +0.5/)
    expect(run.out).toMatch(/liability:credits:acc_1 +0.00333 +500 +499.99667 +0.49999667/)
    expect(run.out).toContain("payments: 1 settled.")
  })

  it("check fails with every problem when something does not add up", async () => {
    const problems = ["the sum of all accounts is 1 and not 0", "liability:credits:acc_1 is negative"]
    const run = await runCli(["ledger", "check"], () => ok({ ...report, ok: false, problems }))
    expect(run.isSuccess).toBe(false)
    for (const problem of problems) expect(run.out).toContain(problem)
  })

  it.each([
    ["500", "Gave 500 credits to alice"],
    ["-2.5", "Took 2.5 credits from alice"]
  ])("adjust by %s says what it did", async (credits, said) => {
    const run = await runCli(
      ["ledger", "adjust", "--account", "alice", "--credits", credits, "--reason", "refund", "--key", "refund-17"],
      () => ok({ balance: 10, replayed: false })
    )
    expect(run.requests[0]).toMatchObject({
      url: "/admin/ledger/adjustments",
      body: { account: "alice", credits: Number(credits), reason: "refund", key: "refund-17" }
    })
    expect(run.out).toContain(said)
  })

  it("adjust says that a repeated correction changed nothing", async () => {
    const args = ["ledger", "adjust", "--account", "alice", "--credits", "5", "--reason", "r", "--key", "k"]
    const run = await runCli(args, () => ok({ balance: 10, replayed: true }))
    expect(run.out).toContain("nothing was changed")
  })

  it("adjust fails with the service's own words", async () => {
    const args = ["ledger", "adjust", "--account", "alice", "--credits", "-5", "--reason", "r", "--key", "k"]
    const run = await runCli(args, () => refused(409, "insufficient_balance", "only 2 credits are free"))
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("only 2 credits are free") })
  })
})

describe("webhooks", () => {
  const webhook = {
    id: "msg_1",
    type: "payment.settled",
    payment: "evm:1",
    state: "pending",
    attempts: 2,
    createdAt: at,
    nextAt: at,
    deliveredAt: null,
    reason: "status 500"
  }

  it("lists messages with their state and what went wrong", async () => {
    const run = await runCli(["webhooks", "list", "--state", "pending"], () => ok({ webhooks: [webhook] }))
    expect(run.requests[0]?.url).toBe("/admin/webhooks?state=pending")
    expect(run.out).toMatch(/msg_1 +payment\.settled +pending +2 +2025-11-21 09:14 +evm:1 +status 500/)
  })

  it("sends one message again, or all that were given up, and asks which", async () => {
    const one = await runCli(["webhooks", "resend", "msg_1"], () => ok({ resent: 1 }))
    expect(one.requests[0]).toMatchObject({ method: "POST", url: "/admin/webhooks/resend", body: { webhook: "msg_1" } })
    const all = await runCli(["webhooks", "resend", "--failed"], () => ok({ resent: 3 }))
    expect([all.requests[0]?.body, all.out]).toEqual([{}, "3 messages are sent again."])
    const neither = await runCli(["webhooks", "resend"], () => ok({ resent: 0 }))
    expect([neither.isSuccess, neither.requests]).toEqual([false, []])
  })

  it("tries the webhook, and fails when it takes nothing", async () => {
    const trial = { delivered: false, reason: "status 410", tookMillis: 12 }
    const run = await runCli(["webhooks", "test"], () => ok(trial))
    expect([run.isSuccess, run.out]).toEqual([false, "status 410, after 12 ms"])
    const taken = await runCli(["webhooks", "test"], () => ok({ ...trial, delivered: true, reason: null }))
    expect([taken.isSuccess, taken.out]).toEqual([true, "delivered, after 12 ms"])
  })
})

describe("payments", () => {
  it("receipt prints the signed receipt of one", async () => {
    const found = { payment: "evm:1", settledAt: at, receipt: { format: "jws", signature: "a.b.c" } }
    const run = await runCli(["payments", "receipt", "0xhash"], () => ok(found))
    expect([run.requests[0]?.url, run.out]).toEqual(["/admin/payments/receipt?payment=0xhash", "a.b.c"])
  })

  const payment = {
    id: "evm:84532:0x03:0x70:0x01",
    account: "acc_1",
    network: "base-sepolia",
    payer: "0x70",
    amountUsd: 0.5,
    state: "broadcasting",
    transaction: "0xfeed",
    reason: null,
    expiresAt: at,
    createdAt: at,
    updatedAt: at
  }

  it("list asks for a state and an account", async () => {
    const run = await runCli(["payments", "list", "--state", "broadcasting", "--account", "alice"], () =>
      ok({ payments: [payment] })
    )
    expect(run.requests[0]?.url).toBe("/admin/payments?state=broadcasting&account=alice")
    expect(run.out).toMatch(/acc_1 +0.50 +broadcasting +base-sepolia +0x70 +0xfeed/)
  })

  it("list says so when there are none", async () => {
    expect((await runCli(["payments", "list"], () => ok({ payments: [] }))).out).toBe("No payments.")
  })

  it("list knows the states", async () => {
    const run = await runCli(["payments", "list", "--state", "lost"], () => ok({ payments: [] }))
    expect(run.isSuccess).toBe(false)
    expect(run.requests).toHaveLength(0)
  })

  it("reconcile tells how many were asked about", async () => {
    const run = await runCli(["payments", "reconcile"], () => ok({ looked: 3 }))
    expect(run.requests[0]).toMatchObject({ method: "POST", url: "/admin/payments/reconcile" })
    expect(run.out).toContain("3 payments that are not final")
  })
})

describe("jobs", () => {
  const account = {
    account: "alice",
    plan: "free",
    live: 1_000,
    expired: 1,
    purged: 2,
    marked: 5,
    insured: 1_000,
    chargedMicro: 3_330_000,
    meteredMicro: 0
  }
  const days = [
    { day: "2026-11-20", accounts: [account] },
    { day: "2026-11-21", accounts: [account] }
  ]

  it("list shows runs and the next one", async () => {
    const { live: _, account: __, plan: ___, marked: ____, ...figures } = account
    const run = await runCli(["jobs", "list"], () =>
      ok({ nextRunAt: at, clockStep: null, runs: [{ ...figures, day: "2026-11-20", accounts: 1, at }] })
    )
    expect(run.out).toMatch(/2026-11-20 +1 +1 +2 +1000 +3.33 +0 +2025-11-21 09:14/)
    expect(run.out).toContain("Next run: 2025-11-21 09:14 UTC.")
  })

  it("run --dry-run tells what would be done, by day and account, with sums", async () => {
    const run = await runCli(["jobs", "run", "--dry-run"], () => ok({ dryRun: true, days }))
    expect(run.requests[0]).toMatchObject({ url: "/admin/jobs/run", body: { dryRun: true } })
    expect(run.out).toMatch(/2026-11-21 +alice +free +1000 +5 +1 +2 +1000 +3.33 +0/)
    expect(run.out).toMatch(/sum +2 +4 +2000 +6.66 +0/)
    expect(run.out).toContain("6.66 credits would be charged")
  })

  it("list says that the clock has stepped, and run --accept-clock confirms it", async () => {
    const clockStep = { seenAt: at, now: at + 40 * 86_400_000 }
    const listed = await runCli(["jobs", "list"], () => ok({ nextRunAt: at, clockStep, runs: [] }))
    expect(listed.out).toContain("The clock stepped from 2025-11-21 09:14 to 2025-12-31 09:14 UTC")
    const run = await runCli(["jobs", "run", "--accept-clock"], () => ok({ dryRun: false, days: [] }))
    expect(run.requests[0]).toMatchObject({ url: "/admin/jobs/run", body: { acceptClock: true } })
  })

  it("run says so when no day is due", async () => {
    expect((await runCli(["jobs", "run"], () => ok({ dryRun: false, days: [] }))).out).toContain("No day is due")
  })

  it("run fails when an account could not be served", async () => {
    const troubled = { ...account, problem: "the file is damaged" }
    const run = await runCli(["jobs", "run"], () =>
      ok({ dryRun: false, days: [{ day: "2026-11-20", accounts: [troubled] }] })
    )
    expect(run).toMatchObject({ isSuccess: false, out: expect.stringContaining("the file is damaged") })
  })
})

describe("accounts plan", () => {
  it("changes the plan of an account", async () => {
    const account = { id: "acc_1", name: "alice", plan: "starter", createdAt: at }
    const run = await runCli(["accounts", "plan", "alice", "starter"], () => ok({ account }))
    expect(run.requests[0]).toMatchObject({ url: "/admin/accounts/plan", body: { account: "alice", plan: "starter" } })
    expect(run.out).toContain("plan starter")
  })

  it("knows the plans", async () => {
    const run = await runCli(["accounts", "plan", "alice", "gold"], () => ok({}))
    expect(run.isSuccess).toBe(false)
    expect(run.requests).toHaveLength(0)
  })
})

describe("consolidate", () => {
  const done = {
    id: "con_1",
    at: Date.UTC(2026, 10, 21, 9),
    account: "alice",
    agentId: "assistant",
    action: "merge",
    memories: ["mem_1", "mem_2"],
    into: "mem_3",
    undoneAt: null
  }

  it("lists what became of which, of one account or of all", async () => {
    const run = await runCli(["consolidate", "list", "--account", "alice"], () => ok({ consolidations: [done] }))
    expect(run.requests[0]).toMatchObject({ url: expect.stringContaining("account=alice") as string })
    expect(run.out).toMatch(/con_1 .*alice .*merge .*mem_1 mem_2 .*mem_3/)
    expect((await runCli(["consolidate", "list"], () => ok({ consolidations: [] }))).out).toContain("Nothing")
  })

  it("shows what a run did or would do, and what it leaves", async () => {
    const { account, action, agentId, memories } = done
    const report = {
      agents: 1,
      left: 2,
      done: [],
      proposed: [{ account, agentId, action, memories, text: "Alice has a dog." }],
      problems: [{ account, agentId: "other", reason: "the budget is used up" }]
    }
    const run = await runCli(["consolidate", "run", "--dry-run"], () => ok(report))
    expect(run.requests[0]).toMatchObject({ url: "/admin/consolidations", body: { dryRun: true } })
    expect(run.out).toMatch(/Alice has a dog\..*the budget is used up.*proposed: 1.*2 agents are left/s)
  })

  it("undoes one by its id", async () => {
    const run = await runCli(["consolidate", "undo", "con_1"], () => ok({ consolidation: { ...done, undoneAt: 1 } }))
    expect(run.requests[0]).toMatchObject({ method: "POST", url: "/admin/consolidations/con_1/undo" })
    expect(run.out).toContain("mem_1, mem_2 stand as before")
  })
})

describe("models usage", () => {
  it("shows tokens and dollars by day and account", async () => {
    const day = { account: "acc_1", day: "2026-11-20", inputTokens: 1_200, outputTokens: 300, costMicroUsd: 12_345 }
    const run = await runCli(["models", "usage", "--account", "alice", "--from", "2026-11-01"], () =>
      ok({ usage: [day] })
    )
    expect(run.requests[0]?.url).toBe("/admin/models/usage?account=alice&from=2026-11-01")
    expect(run.out).toMatch(/2026-11-20 +acc_1 +1200 +300 +0.0123/)
  })

  it("says so when nothing was used", async () => {
    expect((await runCli(["models", "usage"], () => ok({ usage: [] }))).out).toContain("was not used")
  })
})

describe("statement", () => {
  const purses = { balance: 65, allowance: 0, receivable: 0 }
  const entry = { id: 1, at, kind: "adjustment", operation: "=1+1", purse: "balance", calls: 1, credits: -30 }
  const page = { account: "alice", from: "2026-11-01", to: "2026-11-22", opening: purses, closing: purses }
  const service = (request: { readonly url: string }) =>
    request.url.includes("cursor=c2")
      ? ok({ ...page, entries: [{ ...entry, id: 2 }] })
      : ok({ ...page, entries: [entry], nextCursor: "c2" })

  it("shows all pages as one, with the purses before and after", async () => {
    const run = await runCli(["statement", "--account", "alice", "--from", "2026-11-01"], service)
    expect(run.requests.map(({ url }) => url.split("?")[0])).toEqual(["/admin/statement", "/admin/statement"])
    expect(run.out).toContain("alice, 2026-11-01 to 2026-11-22")
    expect(run.out.match(/-30/g)).toHaveLength(2)
    expect(run.out).toContain("after:  balance 65, allowance 0")
  })

  it("prints CSV whose texts are no formulas", async () => {
    const run = await runCli(["statement", "--account", "alice", "--csv"], service)
    expect(run.out).toContain("at,id,kind,operation,purse,calls,credits,agentId\r\n2026-11-01,,opening,,balance,,65,")
    expect(run.out).toContain(",adjustment,'=1+1,balance,1,-30")
  })
})

it("revenue shows sums by period, or CSV", async () => {
  const row = {
    period: "2026-11",
    kind: "received",
    network: "base",
    asset: "USDC",
    operation: null,
    purse: null,
    count: 2,
    credits: 5_000,
    usd: 5
  }
  const service = () => ok({ from: "2026-11-01", to: "2026-11-22", by: "month", rows: [row] })
  const run = await runCli(["revenue", "--by", "week"], service)
  expect(run.requests[0]?.url).toContain("by=week")
  expect(run.out).toMatch(/2026-11 +received +base +USDC +- +- +2 +5000 +5/)
  expect((await runCli(["revenue", "--csv"], service)).out).toContain("2026-11,received,base,USDC,,,2,5000,5")
})

describe("refund", () => {
  const payment = {
    id: "evm:84532:0xa:0xb:0x1",
    account: "alice",
    network: "base-sepolia",
    payer: evmAddresses.payer,
    amountUsd: 5,
    state: "finalized",
    transaction: "0x1",
    reason: null,
    expiresAt: at,
    createdAt: at,
    updatedAt: at
  }
  const requirement = {
    scheme: "exact",
    network: "base-sepolia",
    maxAmountRequired: "4985000",
    resource: "refund",
    description: "refund",
    mimeType: "application/json",
    payTo: evmAddresses.payer,
    maxTimeoutSeconds: 60,
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    extra: { name: "USDC", version: "2" }
  }
  const refund = {
    id: "evm:84532:0xa:0xc:0x2",
    payment: payment.id,
    from: evmAddresses.payTo,
    amountUsd: 4.985,
    state: "settled",
    transaction: "0x2",
    reason: null,
    createdAt: at,
    updatedAt: at
  }
  const service = (request: { readonly method: string }) =>
    request.method === "GET" ? ok({ payment, refund: null, requirement }) : ok({ refund })

  it("shows with --dry-run how much would go back and to whom, and sends nothing", async () => {
    const run = await runCli(["refund", payment.id, "--dry-run"], service)
    expect(run.out).toContain(`4.985 of 5 USD would go back to ${evmAddresses.payer} on base-sepolia.`)
    expect(run.requests.map(({ method }) => method)).toEqual(["GET"])
  })

  it("signs the offer with the key of the file, and sends no key", async () => {
    using files = new KeyFiles()
    const keyFile = files.write("payee.key", evmKeys.payTo)
    const run = await runCli(["refund", payment.id, "--key-file", keyFile], service)
    const { authorization } = run.requests[1]!.body as { readonly authorization: string }
    const { payload } = JSON.parse(Buffer.from(authorization, "base64").toString("utf8"))
    expect(payload.authorization).toMatchObject({ from: evmAddresses.payTo, to: evmAddresses.payer, value: "4985000" })
    expect(JSON.stringify(run.requests)).not.toContain(evmKeys.payTo.slice(2))
    expect(run.out).toMatch(/refund +4.985 USD/)
  })

  it("goes on with a refund that the payment has, and signs nothing", async () => {
    const run = await runCli(["refund", payment.id], () => ok({ payment, refund, requirement: null }))
    expect(run.out).toMatch(/state +settled/)
    expect(run.requests.map(({ method }) => method)).toEqual(["GET"])
  })

  it("needs the key of the wallet that has the money", async () => {
    const run = await runCli(["refund", payment.id], service)
    expect(run.isSuccess).toBe(false)
  })
})
