import { execFileSync } from "node:child_process"
import { setTimeout as pause } from "node:timers/promises"
import { expect, it, onTestFinished } from "vitest"
import { LoopDelay } from "@muniment/server/http/LoopDelay"
import { repository } from "../../support/TestServer.ts"

/** Longer than a loop without work takes to rest. */
const restMillis = 1_500

const delays = (): LoopDelay => {
  const opened = new LoopDelay()
  onTestFinished(() => opened.close())
  return opened
}

const block = (millis: number): void => {
  for (const until = performance.now() + millis; performance.now() < until;);
}

it("sees a long turn of a loop that rested, once", async () => {
  const delay = delays()
  await pause(restMillis)
  delay.read()
  block(400)
  await pause(20)
  // A tick of a resting loop is due up to 100 ms after the turn began.
  expect(delay.read().maxSeconds).toBeGreaterThanOrEqual(0.29)
  expect(delay.read()).toEqual({ p99Seconds: 0, maxSeconds: 0 })
})

it("counts every turn of a loop at work, also after a rest", async () => {
  const delay = delays()
  await pause(restMillis)
  delay.read()
  for (let turn = 0; turn < 10; turn++) {
    block(90)
    await pause(30)
  }
  expect(delay.read().p99Seconds).toBeGreaterThanOrEqual(0.07)
})

it("does not wake a process at rest a hundred times a second", () => {
  const program = `
    import { LoopDelay } from "./packages/server/src/http/LoopDelay.ts"
    const delay = new LoopDelay()
    const switches = () => process.resourceUsage().voluntaryContextSwitches
    const inTwoSeconds = () => {
      const before = switches()
      return new Promise((resume) => setTimeout(() => resume(switches() - before), 2000))
    }
    setTimeout(async () => {
      // Threads of the runtime wake by themselves, after a start on a busy machine.
      console.log(Math.min(await inTwoSeconds(), await inTwoSeconds(), await inTwoSeconds()))
      delay.close()
    }, ${restMillis})`
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: repository,
    encoding: "utf8"
  })
  expect(Number(printed)).toBeGreaterThan(0)
  expect(Number(printed)).toBeLessThan(100)
})
