/** Payments in the console, on a local chain: one that waits stands first, and the operator has the chain asked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Browser } from "playwright-core"
import { accessibilityFaults, openBrowser, openConsole, showPage, type WatchedPage } from "../support/Browser.ts"
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
    await chains.evm.setAutomine(true)
    await chains.evm.mine()
    await page.getByRole("button", { name: "Ask the chains now" }).click()
    await page.getByText("payments without an end were looked up").waitFor()
    await expect
      .poll(async () => {
        await page.getByRole("button", { name: "Ask the chains now" }).click()
        return rows.allInnerTexts()
      })
      .not.toContainEqual(expect.stringMatching(/^(broadcasting|verified)/))
    expect((await paymentsOf(server)).map(({ state }) => state)).not.toContain("broadcasting")
    expect(await waiting.who.balance()).toBe(2_000)
    await page.getByLabel("State").selectOption("failed")
    await page.getByText("No payment").waitFor()
    expect([watched.complaints, watched.foreign]).toEqual([[], []])
  })
})
