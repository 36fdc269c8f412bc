/** Payments in the console, on a local chain: one that waits stands first, and the operator has the chain asked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Browser, Route } from "playwright-core"
import {
  accessibilityFaults,
  expectAccessible,
  openBrowser,
  openConsole,
  showPage,
  type WatchedPage
} from "../support/Browser.ts"
import { expectUnknown, paymentsOf, signedDeposit } from "../support/PaymentCalls.ts"
import { missingChains, type PaymentChains, startPaymentChains } from "../support/PaymentChains.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

describe.skipIf(missingChains !== "")(`payments in the console${missingChains}`, () => {
  let chains: PaymentChains
  let server: TestServer
  let browser: Browser
  let watched: WatchedPage
  beforeAll(async () => {
    ;[chains, browser] = await Promise.all([startPaymentChains(), openBrowser()])
    server = await startServer({ environment: chains.environment })
    watched = await openConsole(browser, server)
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
    await chains.stop()
  })

  it("show those without an outcome first, and get one when the chains are asked", async () => {
    const { page } = watched
    const waiting = await signedDeposit(server, chains, "base-sepolia", 2)
    await chains.evm.setAutomine(false)
    expectUnknown(await waiting.who.deposit(2, waiting.payment))
    // Settled, and begun later than the other.
    const settled = await signedDeposit(server, chains, "solana-devnet", 3)
    expect((await settled.who.deposit(3, settled.payment)).status).toBe(200)
    await showPage(page, "#/money")
    const rows = page.getByRole("region", { name: "Payments" }).locator("tbody tr")
    await expect
      .poll(() => rows.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^(broadcasting|verified)[^]*2\.00/),
        expect.stringMatching(new RegExp(`^settled[^]*${settled.who.name}[^]*3\\.00`))
      ])
    expect(await accessibilityFaults(page)).toEqual([])
    if (process.env["MUNIMENT_SCREENSHOTS"] !== undefined) {
      await page.screenshot({ path: `${process.env["MUNIMENT_SCREENSHOTS"]}/payments.png` })
    }
    const waits = (await server.asOperator("GET", "/admin/payments")).body.payments.find(
      ({ network }: { readonly network: string }) => network === "base-sepolia"
    )
    await rows.first().getByRole("button").click()
    const panel = page.getByRole("complementary", { name: "Payment" })
    await panel.getByText(/^Waits for \d+ (?:s|min), since /).waitFor()
    await panel.getByText("as long as the payer's authorisation holds, until").waitFor()
    const [header = ""] = Object.values(waiting.payment)
    const { payload } = JSON.parse(Buffer.from(header, "base64").toString())
    expect(waits.expiresAt).toBe(Number(payload.authorization.validBefore) * 1_000)
    for (const whole of [waits.transaction, waits.payer, waits.id]) {
      expect((await panel.innerText()).replaceAll("\n", "")).toContain(whole)
    }
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
    await panel.getByRole("button", { name: "Copy Transaction" }).click()
    await panel.getByText("Copied").waitFor()
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(waits.transaction)
    const links = panel.getByRole("link", { name: "In the explorer" })
    expect(await links.first().getAttribute("href")).toBe(`https://sepolia.basescan.org/tx/${waits.transaction}`)
    if (process.env["MUNIMENT_SCREENSHOTS"] !== undefined) {
      await page.screenshot({ path: `${process.env["MUNIMENT_SCREENSHOTS"]}/payment.png` })
      await page.setViewportSize({ width: 390, height: 844 })
      await page.screenshot({ path: `${process.env["MUNIMENT_SCREENSHOTS"]}/payment-narrow.png` })
    }
    await expectAccessible(page, 0, () => panel.waitFor())
    await expectAccessible(page, 1, () => panel.waitFor())
    // An hour later it is stuck: what it waits for, since when, and what can be done.
    await page.clock.setSystemTime(Date.now() + 3_600_000)
    await page.getByLabel("State").selectOption("stuck")
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringMatching(/waits 1 h[^]*stuck/)])
    await panel.getByText(/^Waits for 1 h, since /).waitFor()
    await panel.getByText("The nodes of base-sepolia answer and refuse nothing. Ask the chains now.").waitFor()
    await panel.getByText("The payer's authorisation ran out").waitFor()
    // What is to be done is said by the status alone, and follows it as the payment is read anew.
    const noStatus = (route: Route) =>
      route.fulfill({ status: 503, json: { success: false, error: "busy", code: "overloaded" } })
    const step = "The nodes of base-sepolia answer and refuse nothing."
    await page.route("**/admin/status", noStatus)
    await page.reload()
    await panel.getByText("Busy (503).").waitFor()
    expect(await panel.getByText("does not serve").count()).toBe(0)
    await page.unroute("**/admin/status")
    await panel.getByText(step).waitFor()
    expect(await panel.getByText("Busy (503).").count()).toBe(0)
    expect(watched.complaints.splice(0).every((text) => text.includes("503"))).toBe(true)
    const problem = { question: "look", cause: "no block", since: 1 }
    await page.route("**/admin/status", async (route) => {
      const response = await route.fetch()
      const status = await response.json()
      for (const network of status.payments.networks) network.problems = [problem]
      await route.fulfill({ response, json: status })
    })
    await panel.getByText("do not say what became of transactions since 1970").waitFor()
    await showPage(page, "#/overview")
    await page.getByText("The nodes of base-sepolia do not say what became of transactions since 1970").waitFor()
    await page.unroute("**/admin/status")
    await page.goBack()
    await page.getByLabel("State").selectOption("")
    await page.getByRole("link", { name: "what it waits for" }).click()
    await expect.poll(() => page.url()).toContain("state=stuck")
    await page.clock.setSystemTime(Date.now())
    await showPage(page, "#/money")
    await chains.evm.setAutomine(true)
    await chains.evm.mine()
    await page.getByRole("button", { name: "Ask the chains now" }).click()
    await page.getByText(/payments? without an end (?:was|were) looked up/).waitFor()
    await expect
      .poll(async () => {
        await page.getByRole("button", { name: "Ask the chains now" }).click()
        return rows.allInnerTexts()
      })
      .not.toContainEqual(expect.stringMatching(/^(broadcasting|verified)/))
    expect((await paymentsOf(server)).map(({ state }) => state)).not.toContain("broadcasting")
    expect(await waiting.who.balance()).toBe(2_000)
    await rows.first().getByRole("button").click()
    await panel.locator("dt").getByText("Receipt, signed").waitFor()
    await panel.getByText("Credited", { exact: true }).waitFor()
    await page.keyboard.press("Escape")
    await panel.waitFor({ state: "detached" })
    await page.getByLabel("State").selectOption("failed")
    await page.getByText("No payment").waitFor()
    expect([watched.complaints, watched.foreign]).toEqual([[], []])
  })
})
