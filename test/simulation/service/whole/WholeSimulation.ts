/**
 * One seed of the whole service: accounts write, converse and pay over a network that loses and doubles, the chain loses
 * and takes back, days pass with their jobs, disks fail and fill up, a second process wants the directory, and the
 * process is killed or loses power at any step. Every answer is judged by the model, and every account by its books.
 *
 * Invariant: nothing depends on the wall clock, on chance outside the seed, or on the order of real input and output.
 */
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SeededRandom } from "../../../support/SeededRandom.ts"
import { copyFiles, filesBelow, removeDirectory } from "../Copies.ts"
import { cut, failAfter, forgetDisk, holdsText, leaveFree, mendDisk } from "../LogDisk.ts"
import { Model } from "../Model.ts"
import { busyThreads, settle } from "../Service.ts"
import type { SimulationResult } from "../Simulation.ts"
import { SimulatedClock } from "../SimulatedClock.ts"
import { Trace } from "../Trace.ts"
import { Books, type Movement, type Purses } from "./Books.ts"
import {
  type AccountOfCaller,
  type Ask,
  Callers,
  depositCredits,
  isRetired,
  type Tenant,
  verdictOf
} from "./Callers.ts"
import { seedCrypto, takeOverCrypto } from "./SeededCrypto.ts"
import { connectChain, SimulatedChain } from "./SimulatedChain.ts"
import { type Answer, type Call, operatorToken, WholeService } from "./WholeService.ts"

const dayMillis = 86_400_000
const startMillis = Date.UTC(2026, 0, 5)
/** Of the daily job, after midnight. */
const jobMillis = 600_000
/** A memory this old may go: it was found too old by one run and by another a day later. */
const purgeAgeMillis = 8 * dayMillis - 7_200_000
const turnsMax = 3_000
const triesMax = 4
/** The first writes after a full disk find the room, and those under way were refused before. */
const staleRefusalsMax = 8
const reconcileMillis = 200_000
/** A caller repeats what an agent refused that is being removed because it is empty. */
const retiredMillis = 1_000

class Fault extends Error {}

export const simulateWhole = async (seed: number, steps: number): Promise<SimulationResult> => {
  const simulation = new WholeSimulation(seed)
  try {
    return await simulation.run(steps)
  } finally {
    await simulation.end()
  }
}

class WholeSimulation {
  readonly #seed: number
  readonly #random: SeededRandom
  readonly #clock = new SimulatedClock(startMillis)
  readonly #chain: SimulatedChain
  readonly #callers: Callers
  readonly #trace = new Trace()
  readonly #root: string
  readonly #accounts: ReadonlyArray<AccountOfCaller>
  readonly #tenants: ReadonlyArray<Tenant>
  /** Days pass often, so that purges come. */
  readonly #isLong: boolean
  /** Without a deposit nothing is insured. */
  readonly #isPaying: boolean
  #network: Array<Ask> = []
  #underWay: Array<Ask> = []
  #service: WholeService
  #life = 0
  #step = 0
  #crashes = 0
  #acknowledged = 0
  #fault: string | undefined
  #mustRestart = false
  /** The log's disk fails in this life, or did. */
  #isDiskFaulty = false
  /** It is full in this life, or was. */
  #isDiskFull = false
  /** Answers that still blamed the disk after it was mended. */
  #staleRefusals: number | undefined

  constructor(seed: number) {
    this.#seed = seed
    this.#random = new SeededRandom(seed)
    takeOverCrypto()
    seedCrypto(seed)
    this.#isLong = this.#random.next() < 0.4
    this.#isPaying = this.#random.next() < 0.6
    this.#chain = new SimulatedChain(() => this.#random.next())
    connectChain(this.#chain)
    this.#callers = new Callers(this.#random)
    const memory = "/dev/shm"
    this.#root = join(existsSync(memory) ? memory : tmpdir(), `muniment-simulation-${process.pid}-${seed}`)
    this.#accounts = ["one", "two"].map((name) => ({ name, key: "", books: new Books() }))
    this.#tenants = [
      [0, "a"],
      [0, "b"],
      [1, "a"],
      [1, "c"]
    ].map(([account, agentId]) => ({
      account: this.#accounts[account as number]!,
      agentId: String(agentId),
      model: new Model(),
      isConversation: agentId === "c",
      writing: 0
    }))
    this.#service = this.#next()
  }

  async run(steps: number): Promise<SimulationResult> {
    try {
      await this.#open()
      for (const account of this.#accounts) account.key = await this.#keyOf(account.name)
      for (; this.#step < steps && this.#fault === undefined; this.#step++) await this.#act()
      for (const isPower of [false, true]) {
        await this.#drain()
        for (const tenant of this.#tenants) await this.#read(tenant)
        await this.#crash(isPower)
      }
      for (const tenant of this.#tenants) await this.#read(tenant)
      await this.#audit()
      this.#searchForErased()
    } catch (cause) {
      if (!(cause instanceof Fault)) throw cause
      this.#fault ??= cause.message
    }
    const finding = this.#fault === undefined ? undefined : { step: this.#step, fault: this.#fault }
    const { digest } = this.#trace
    return { seed: this.#seed, digest, crashes: this.#crashes, acknowledged: this.#acknowledged, finding }
  }

  async end(): Promise<void> {
    cut(this.#service.logDirectory, join(this.#root, "end"), undefined)
    await this.#until(this.#service.bury, true)
    this.#clock.forget()
    forgetDisk(this.#service.logDirectory)
    forgetDisk(join(this.#root, "end"))
    removeDirectory(this.#root)
  }

  async #act(): Promise<void> {
    // A full disk stays full for a while: removals must go on.
    const isUsable = this.#isDiskFull && !this.#isDiskFaulty
    if (this.#mustRestart && (!isUsable || this.#random.next() < 0.15)) return this.#recover()
    if (this.#isLong && this.#random.next() < 0.12) await this.#sleepToJob()
    const chance = this.#random.next()
    if (chance < 0.2) this.#send(this.#callers.write(this.#pick(this.#tenants.filter((one) => !one.isConversation))))
    else if (chance < 0.23)
      this.#send(this.#callers.converse(this.#pick(this.#tenants.filter((one) => one.isConversation))))
    else if (chance < 0.26) this.#pay()
    else if (chance < 0.52) this.#deliver()
    else if (chance < 0.76) await this.#turn()
    else if (chance < 0.83) await this.#pass(this.#random.between(1, this.#random.next() < 0.7 ? 150 : 60_000))
    else if (chance < 0.89) await this.#read(this.#pick(this.#tenants))
    else if (chance < 0.92) this.#moveChain()
    else if (chance < 0.93) this.#breakDisk()
    else if (chance < 0.95) await this.#crash(this.#random.next() < 0.7)
    else if (chance < 0.96) await this.#intrude()
    else if (chance < 0.97) await this.#sleepToJob()
    await settle()
    if (this.#fault !== undefined) throw new Fault(this.#fault)
  }

  #pick<A>(choices: ReadonlyArray<A>): A {
    return this.#random.pick(choices)!
  }

  #note(...words: ReadonlyArray<string | number>): void {
    this.#trace.note(this.#step, this.#clock.currentTimeMillisUnsafe(), words)
  }

  async #keyOf(account: string): Promise<string> {
    const { body } = await this.#ask({ method: "POST", path: "/admin/keys", key: operatorToken, body: { account } })
    return String(body["secret"])
  }

  #pay(): void {
    if (!this.#isPaying) return
    const account = this.#pick(this.#accounts)
    const nonce = `nonce-${account.name}-${account.books.payments.size}`
    this.#chain.authorise(nonce, this.#callers.depositUnits)
    this.#send(this.#callers.deposit(account, nonce))
  }

  #moveChain(): void {
    const chance = this.#random.next()
    if (chance < 0.6) this.#chain.mine(this.#random.between(1, 6))
    else if (chance < 0.8) this.#chain.reorganise()
    else this.#chain.awayShare = this.#chain.awayShare === 0 ? 0.5 : 0
    this.#note("chain", chance.toFixed(3))
  }

  /** One or two copies of a request are on their way. */
  #send(ask: Ask): void {
    ask.tries++
    const copies = this.#random.next() < 0.3 ? 2 : 1
    this.#count(ask, copies)
    for (let copy = 0; copy < copies; copy++) this.#network.push(ask)
  }

  /** Any request of the network arrives, is lost, or is lost on its way back. */
  #deliver(): void {
    if (this.#network.length === 0) return
    const [ask] = this.#network.splice(this.#random.between(0, this.#network.length - 1), 1)
    if (ask === undefined) return
    const fate = this.#random.next()
    this.#note("deliver", ask.name, fate.toFixed(3))
    if (fate < 0.08) return this.#over(ask)
    const life = this.#life
    if (ask.tenant !== undefined) ask.tenant.writing++
    if (ask.write !== undefined) ask.tenant?.model.deliver(ask.write, undefined, this.#clock.currentTimeMillisUnsafe())
    this.#underWay.push(ask)
    const done = (answer: Answer): void => {
      if (life !== this.#life) return
      if (ask.tenant !== undefined) ask.tenant.writing--
      this.#underWay.splice(this.#underWay.indexOf(ask), 1)
      this.#note("answer", ask.name, answer.status, String(answer.body["code"] ?? ""))
      if (fate > 0.9) return this.#over(ask)
      this.#judge(ask, answer)
      this.#over(ask)
    }
    void this.#service.call(ask.call).then(done, (cause: unknown) => {
      if (life === this.#life) this.#fault ??= `${ask.name} has no answer: ${String(cause)}`
    })
  }

  #judge(ask: Ask, answer: Answer): void {
    const excuses = {
      isDiskFaulty: this.#isDiskFaulty,
      isDiskFull: this.#isDiskFull,
      isPurging: this.#clock.currentTimeMillisUnsafe() - startMillis > purgeAgeMillis
    }
    const verdict = verdictOf(ask, answer, excuses)
    if (verdict === "fault")
      this.#fault ??= `${ask.name} is answered with ${answer.status} ${String(answer.body["code"])}: ${String(answer.body["error"])}`
    const isDisks = answer.status >= 503 && !isRetired(answer)
    if (verdict === "again" && isDisks && ask.tenant !== undefined) this.#blameDisk(ask.name)
    if (answer.status === 503 && isDisks && ask.write !== undefined)
      ask.tenant?.account.books.unknown.add(ask.write.key)
    if (verdict !== "final") return
    ask.isOver = true
    if (answer.status !== 200) return
    this.#acknowledged++
    this.#fault ??= ask.stored(answer.body, this.#clock.currentTimeMillisUnsafe())
  }

  #blameDisk(what: string): void {
    if (this.#staleRefusals === undefined) this.#mustRestart = true
    else if (++this.#staleRefusals > staleRefusalsMax) this.#fault ??= `${what} is refused, and the disk works again`
  }

  /** The caller repeats a request that nobody answered. */
  #over(ask: Ask): void {
    this.#count(ask, -1)
    if (ask.copies > 0) return
    if (!ask.isOver && ask.tries < triesMax) this.#send(ask)
    else ask.ended()
  }

  #count(ask: Ask, copies: number): void {
    ask.copies += copies
    if (ask.write !== undefined) ask.write.copies = ask.copies
  }

  async #turn(): Promise<void> {
    const busy = busyThreads()
    if (busy.length === 0) return
    const thread = this.#pick(busy)
    const count = thread.name === "log" ? this.#random.between(1, thread.waiting) : 1
    this.#note("turn", thread.name, count)
    await thread.turn(count)
  }

  async #pass(millis: number): Promise<void> {
    const until = this.#clock.currentTimeMillisUnsafe() + millis
    await this.#clock.advanceTo(Math.min(until, this.#clock.currentTimeMillisUnsafe() + 2_000), settle)
    this.#clock.jumpTo(until)
    this.#note("pass", millis)
  }

  /** To the next run of the daily job, with nothing under way: a day later keys of requests are forgotten. */
  async #sleepToJob(): Promise<void> {
    await this.#drain()
    const uninsured = await this.#uninsured()
    const now = this.#clock.currentTimeMillisUnsafe()
    const at = Math.floor((now - jobMillis) / dayMillis + 1) * dayMillis + jobMillis
    this.#clock.jumpTo(Math.max(now, at - 2_000))
    this.#note("day", at)
    await this.#rest(this.#random.between(1, 5_000))
    for (const { account, model } of this.#tenants)
      model.letGo(uninsured.includes(account) ? at - purgeAgeMillis : -Infinity)
    for (const tenant of this.#tenants) if (this.#random.next() < 0.5) await this.#read(tenant)
    if (this.#random.next() < 0.1) await this.#crash(false)
  }

  /** Accounts without a balance, whose memories the next run may purge. */
  async #uninsured(): Promise<ReadonlyArray<AccountOfCaller>> {
    const found: Array<AccountOfCaller> = []
    for (const account of this.#accounts) if ((await this.#pursesOf(account)).balance <= 0) found.push(account)
    return found
  }

  async #pursesOf({ key }: AccountOfCaller): Promise<Purses> {
    const { body } = await this.#ask({ method: "GET", path: "/credits", key })
    return { balance: creditsOf(body["balance"]), allowance: creditsOf(body["allowance"]) }
  }

  /** After every crash there is a service again. */
  async #open(): Promise<void> {
    await this.#until(this.#service.start).catch((cause: unknown) => {
      throw cause instanceof Fault ? cause : new Fault(`the service does not start: ${String(cause)}`)
    })
  }

  /** Time passes and threads work. */
  async #rest(millis: number): Promise<void> {
    const until = this.#clock.currentTimeMillisUnsafe() + millis
    for (let turns = 0; this.#clock.currentTimeMillisUnsafe() < until && turns < turnsMax; turns++) {
      await settle()
      const { next = until } = this.#clock
      if (busyThreads().length > 0) await this.#turn()
      else await this.#clock.advanceTo(Math.min(next, until), settle)
    }
  }

  /** Threads and time move until `done`; a crash does not come meanwhile. */
  async #until<A>(done: Promise<A>, isEnd = false): Promise<A> {
    let isDone = false
    void done.finally(() => void (isDone = true)).catch(() => undefined)
    for (let turns = 0; ; turns++) {
      await settle()
      if (isDone) return done
      if (turns > turnsMax) throw isEnd ? new Error("the service does not end") : new Fault("a request is not answered")
      const { next } = this.#clock
      if (busyThreads().length > 0) await this.#turn()
      else if (next !== undefined) await this.#clock.advanceTo(next, settle)
    }
  }

  #ask(call: Call): Promise<Answer> {
    return this.#until(this.#service.call(call))
  }

  async #read({ account: { books, key }, agentId, isConversation, model, writing }: Tenant): Promise<void> {
    const judge = model.expectation()
    const list = { method: "GET", path: `/memories?agentId=${agentId}&limit=100`, key }
    let answer = await this.#ask(list)
    for (let tries = 1; isRetired(answer) && tries < triesMax; tries++) {
      await this.#rest(retiredMillis)
      answer = await this.#ask(list)
    }
    const { body, status } = answer
    this.#note("read", agentId, status)
    if (status !== 200) return this.#unread(status, String(body["code"]), String(body["error"]))
    const listed = (body["memories"] ?? []) as ReadonlyArray<Listed>
    const seen = new Map<string, string>()
    for (const { data, id, kind } of listed)
      if ((kind === "conversation_message") === isConversation) seen.set(id, String(data["fact"] ?? data["text"]))
    this.#note(...[...seen].flat())
    const now = this.#clock.currentTimeMillisUnsafe()
    model.recognise(seen, now)
    const [fault] = judge(seen, now, now)
    if (fault !== undefined) throw new Fault(`agent ${agentId}: ${fault}`)
    model.learn(seen, now, writing === 0)
    for (const write of model.recognised) books.done.add(write)
  }

  #unread(status: number, code: string, error: string): void {
    if (code === "insufficient_credits") return
    if (!this.#isDiskFaulty || status !== 503) throw new Fault(`a read is answered with ${status} ${code}: ${error}`)
    this.#blameDisk("a read")
  }

  /** Until every request is answered or given up, and certain: what a broken log has of one shows at the next start. */
  async #drain(): Promise<void> {
    for (let turns = 0; this.#mustRestart || this.#network.length > 0 || this.#underWay.length > 0; turns++) {
      if (turns > turnsMax) throw new Fault("requests are not answered")
      if (this.#mustRestart) await this.#recover()
      this.#deliver()
      await settle()
      const { next } = this.#clock
      if (busyThreads().length > 0) await this.#turn()
      else if (next !== undefined) await this.#clock.advanceTo(next, settle)
      await settle()
      if (this.#fault !== undefined) throw new Fault(this.#fault)
    }
  }

  /** After everything has arrived: the books of all accounts. */
  async #audit(): Promise<void> {
    await this.#drain()
    this.#chain.finish()
    await this.#rest(reconcileMillis)
    const { body } = await this.#ask({ method: "GET", path: "/admin/ledger/check", key: operatorToken })
    if (body["ok"] !== true) throw new Fault(`the ledger: ${JSON.stringify(body["problems"])}`)
    const days = Math.floor((this.#clock.currentTimeMillisUnsafe() - startMillis) / dayMillis) + 1
    for (const account of this.#accounts) {
      const { books, key, name } = account
      const movements: Array<Movement> = []
      for (let cursor: unknown = ""; cursor !== undefined;) {
        const from = cursor === "" ? "" : `&cursor=${String(cursor)}`
        const page = await this.#ask({ method: "GET", path: `/credits/transactions?limit=100${from}`, key })
        movements.push(...((page.body["transactions"] ?? []) as ReadonlyArray<Movement>))
        cursor = page.body["nextCursor"]
      }
      const paid = [...this.#chain.received.keys()].filter((nonce) => books.payments.has(nonce)).length
      const fault = books.faultOf(movements, await this.#pursesOf(account), { days, received: paid * depositCredits })
      if (fault !== undefined) throw new Fault(`account ${name}: ${fault}`)
    }
  }

  /** What was removed is in no file any more. */
  #searchForErased(): void {
    const { directory, logDirectory } = this.#service
    const files = filesBelow(directory)
    for (const { agentId, model } of this.#tenants)
      for (const text of model.goneTexts)
        if (holdsText(logDirectory, text) || files.some((bytes) => bytes.includes(text)))
          throw new Fault(`a file still holds what agent ${agentId} removed: ${text}`)
  }

  /** A second process wants the directory. */
  async #intrude(): Promise<void> {
    this.#note("intruder")
    const other = this.#serviceOf(this.#service.directory)
    const started = await this.#until(
      other.start.then(
        () => true,
        () => false
      )
    )
    if (started) throw new Fault("two processes serve one directory")
  }

  /** After a failure of the disk: it works again, or the process ends. */
  async #recover(): Promise<void> {
    if (this.#random.next() < 0.5) return this.#crash(this.#random.next() < 0.5)
    this.#note("mended")
    mendDisk(this.#service.logDirectory)
    // What is under way may be refused yet.
    await this.#rest(5_000)
    this.#mustRestart = false
    this.#staleRefusals = 0
  }

  async #crash(isPower: boolean): Promise<void> {
    this.#crashes++
    const before = this.#service
    this.#note("crash", isPower ? "power" : "kill")
    this.#life++
    const after = this.#next()
    const frames = isPower ? (least: number, most: number) => this.#random.between(least, most) : undefined
    cut(before.logDirectory, after.logDirectory, isPower ? () => this.#random.next() < 0.5 : undefined)
    copyFiles(before.directory, after.directory, frames)
    await this.#until(before.bury, true)
    this.#clock.forget()
    forgetDisk(before.logDirectory)
    removeDirectory(before.directory)
    for (const { tenant } of this.#underWay) if (tenant !== undefined) tenant.writing = 0
    for (const ask of this.#underWay.splice(0)) this.#over(ask)
    this.#service = after
    this.#mustRestart = false
    this.#isDiskFaulty = false
    this.#isDiskFull = false
    this.#staleRefusals = undefined
    await this.#open()
  }

  #breakDisk(): void {
    this.#staleRefusals = undefined
    const isFull = this.#random.next() < 0.5
    if (isFull) {
      this.#isDiskFull = true
      leaveFree(this.#service.logDirectory, this.#random.between(0, 10_000))
    } else {
      this.#isDiskFaulty = true
      failAfter(this.#service.logDirectory, this.#random.between(0, 6), () => this.#random.next() < 0.5)
    }
    this.#note(isFull ? "full" : "broken")
  }

  #next(): WholeService {
    return this.#serviceOf(join(this.#root, `life-${this.#life}`))
  }

  /** Who pays runs out in a short run; elsewhere all can read to the end. */
  #serviceOf(directory: string): WholeService {
    const settings = { monthlyAllowance: this.#isPaying && !this.#isLong ? 60 : 2_000 }
    return new WholeService(directory, settings, this.#clock)
  }
}

interface Listed {
  readonly id: string
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}

const creditsOf = (purse: unknown): number =>
  typeof purse === "object" && purse !== null && "credits" in purse ? Number(purse.credits) : 0
