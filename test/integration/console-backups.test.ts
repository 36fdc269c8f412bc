/** Backups of the console in a real browser, made and proved by the service's own command line. */
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { runCli } from "../component/cli/runCli.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { beforeTests } from "../support/beforeTests.ts"
import { expectAccessible, openConsole, showPage, useBrowser, usePage } from "../support/Browser.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { patienceMillis, refusalOf, startServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const place = join(temporaryDirectory(), "kept here")
const server = useServer({
  environment: { ...withoutModel, MUNIMENT_BACKUP_TO: place, MUNIMENT_BACKUP_HOURS: "0", MUNIMENT_BACKUP_KEEP: "1" }
})
const stored = beforeTests(async () => {
  const key = await server.newAccount("research")
  const body = { agentId: "shelves", memories: [fact("lamp", "on the desk")] }
  return { status: (await server.call("POST", "/v1/memories", { key, body })).status }
})
const browser = useBrowser()
const { page, watched } = usePage(browser, server, {
  then: async () => expect(stored.status).toBe(200)
})

const patience = { timeout: patienceMillis }
const state = async () => (await server.asOperator("GET", "/admin/backups")).body
const press = (name: string) => page.getByRole("button", { name }).click()

it("warns that none was ever made, makes one now, and says where it lies", async () => {
  await showPage(page, "#/system?show=backups")
  await page.getByText("No backup was ever made of this service.").waitFor()
  await page.getByText(place, { exact: true }).waitFor()
  expect(await page.getByRole("button", { name: "Verify the newest" }).isDisabled()).toBe(true)
  await press("Back up now")
  await page.getByText(/^Backup \d{8}T\d+Z-\w+: \d+ files copied/).waitFor()
  await page.getByText("No backup was ever made").waitFor({ state: "detached" })
  const { backups, lastAt, lastRun } = await state()
  expect(backups).toHaveLength(1)
  expect([lastRun.problem, lastRun.id, lastAt]).toEqual([null, backups[0].id, backups[0].startedAt])
  await page.getByRole("region", { name: "Complete backups" }).getByText(backups[0].id).waitFor()
  expect(existsSync(join(place, "manifests"))).toBe(true)
})

it("proves that it can be restored, and shows the very command that does", async () => {
  await press("Verify the newest")
  await page.getByText("can be restored; memories and ledger are whole.").waitFor()
  const { backups } = await state()
  const command = await page.getByRole("region", { name: "Restore" }).locator("pre").innerText()
  expect(command).toBe(`npm run muniment -- restore --from '${place}' --to restored --backup ${backups[0].id}`)
  const restored = join(temporaryDirectory(), "restored")
  const run = await runCli(["restore", "--from", place, "--to", restored, "--backup", backups[0].id], () => undefined)
  expect([run.isSuccess, existsSync(join(restored, "control.db"))]).toEqual([true, true])
})

it("keeps as many as are to be kept, and says when a backup is damaged", async () => {
  const [before] = (await state()).backups
  await press("Back up now")
  await expect.poll(async () => (await state()).backups[0].id, patience).not.toBe(before.id)
  await expect.poll(async () => (await state()).running, patience).toBe(null)
  expect((await state()).backups).toHaveLength(1)
  for (const name of readdirSync(join(place, "objects"))) rmSync(join(place, "objects", name), { recursive: true })
  await press("Verify the newest")
  await page.getByText(/^Not verified, /).waitFor()
  expect((await state()).lastVerify.problem).toContain("faults")
})

it("reads out that it is at work and how it ended, and not the seconds that go by", async () => {
  const startedAt = Date.now() - 3_000
  await page.route("**/admin/backups", async (route) => {
    const response = await route.fetch()
    const running = { step: "backup", startedAt }
    await route.fulfill({ response, json: { ...(await response.json()), running } })
  })
  const live = page.locator("main [aria-live=polite]")
  await live.getByText("Backing up").waitFor()
  const said = () =>
    page.evaluate(`(() => {
      const copy = document.querySelector("main [aria-live=polite]").cloneNode(true)
      for (const hidden of copy.querySelectorAll("[aria-hidden=true]")) hidden.remove()
      return copy.textContent
    })()`)
  const [shown, first] = [await live.innerText(), await said()]
  await expect.poll(() => live.innerText(), patience).not.toBe(shown)
  expect([await said(), first]).toEqual([first, expect.not.stringMatching(/ ago|\d s\b/)])
  await page.unroute("**/admin/backups")
  await live.getByText("Backing up").waitFor({ state: "detached" })
})

it("runs one command at a time, and is written into the audit log", async () => {
  const [one, other] = await Promise.all([
    server.asOperator("POST", "/admin/backups/runs"),
    server.asOperator("POST", "/admin/backups/verifications")
  ])
  expect([one.status, other.status]).toEqual([200, 200])
  expect(one.body.running).toEqual(other.body.running)
  await expect.poll(async () => (await state()).running, patience).toBe(null)
  const { events } = (await server.asOperator("GET", "/admin/audit?action=backups")).body
  const actions = new Set(events.map(({ action }: { readonly action: string }) => action))
  expect(actions).toEqual(new Set(["backups.run", "backups.verify", "backups.noteBackup"]))
})

it("is for admins alone", async () => {
  const { secret } = (await server.asOperator("POST", "/admin/operators", { name: "mo", role: "maintainer" })).body
  for (const [method, path] of [
    ["GET", "/admin/backups"],
    ["POST", "/admin/backups/runs"],
    ["POST", "/admin/backups/verifications"]
  ] as const) {
    expect(refusalOf(await server.call(method, path, { key: secret }))).toEqual([403, "operator_role"])
  }
})

it("has no fault against WCAG, and no line wider than the window", async () => {
  for (const at of [0, 1, 2, 3]) {
    await expectAccessible(page, at, async () => {
      await showPage(page, "#/system?show=backups")
      await page.getByRole("region", { name: "Restore" }).waitFor()
    })
  }
  expect([watched.complaints, watched.foreign]).toEqual([[], []])
})

it("makes one by the schedule as soon as none is there, and without a place none at all", async () => {
  const own = join(temporaryDirectory(), "scheduled")
  const scheduled = await startServer({ environment: { ...withoutModel, MUNIMENT_BACKUP_TO: own } })
  const at = async () => (await scheduled.asOperator("GET", "/admin/backups")).body
  expect((await at()).everyHours).toBe(24)
  const isMade = async () => {
    const { lastAt, running } = await at()
    return lastAt !== null && running === null
  }
  await expect.poll(isMade, patience).toBe(true)
  const { lastAt, nextAt } = await at()
  expect(nextAt - lastAt).toBe(24 * 3_600_000)
  // Noted of another place, and by a clock that was wrong: neither puts the next one off.
  for (const id of ["20260101T000000000Z-0000", "99991231T000000000Z-0000"]) {
    expect((await scheduled.asOperator("POST", "/admin/backups", { id })).status).toBe(200)
    expect((await at()).nextAt).toBe(nextAt)
  }
  expect((await scheduled.asOperator("GET", "/admin/status")).body.backup.ageSeconds).toBe(null)
  await scheduled.stop()
  const without = await startServer({ environment: withoutModel })
  expect(refusalOf(await without.asOperator("POST", "/admin/backups/runs"))).toEqual([409, "backup_not_configured"])
  const other = await openConsole(browser, without)
  await showPage(other.page, "#/system?show=backups")
  await other.page.getByText("MUNIMENT_BACKUP_TO").waitFor()
  expect(await other.page.getByRole("button", { name: "Back up now" }).count()).toBe(0)
  await other.page.context().close()
  await without.stop()
})
