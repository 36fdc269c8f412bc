/**
 * Everything at once against one data directory of a real service, from one seed: kills and power cuts under load, flipped
 * bits while it runs and while it does not, and other programs at its files.
 *
 * What was acknowledged is there after each start, unless the service says that the agent is damaged. An agent that it says
 * so of must have been hit; its file comes back from a backup, or its account is erased and another one takes its place. Now and then a life
 * of the service lasts until it has read all of its files, as it does every week: what is wrong then is silent damage.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import type { Operation } from "../support/KillNineLedger.ts"
import { type OutsideReader, startOutsideReader } from "../support/OutsideReader.ts"
import type { CutDisk } from "../support/PowerCuts.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"
import { AgentBackups } from "./AgentBackups.ts"
import { newStormAgent, type StormAgent } from "./StormAgents.ts"
import { controlKinds, type Flip, runningKinds, stoppedKinds, StormFlips } from "./StormFlips.ts"

const agentCount = 16
const writersPerAgent = 2
/** Of a service under load, milliseconds. */
const lifeMillis = { least: 300, most: 6_000 }
/** From one life that lasts until all files are read to the next one. */
const checkedEachMillis = 180_000
/** Such a life takes a little more than the pause of the scrubber behind a start. */
const checkedLifeMillis = 80_000
/** Between two flips of a service that runs. */
const flipEachMillis = { least: 200, most: 3_000 }
/** Of a life that is checked: what is hit later may have been read. */
const flippedBeforeCheckMillis = 45_000
/** A file that seems damaged is read again, and made again if it can be, before it counts as set aside. */
const setAsideMillis = 15_000
const againMillis = 100
/** Of one life: a service that sets aside a quarter of its agents is not ready. */
const broughtBackMax = 2

export interface StormReport {
  lives: number
  kills: number
  cuts: number
  stops: number
  /** Lives that lasted until all files were read. */
  checks: number
  /** Rounds of the other programs. */
  readers: number
  /** Starts that refused a directory whose `control.db`, or another small file, was damaged, and named it. */
  refusals: number
  /** Damaged files that the service made again, as the check said. */
  mended: number
  /** Files of damaged agents that were brought back from a backup. */
  restored: number
  acknowledged: number
  /** Of agents that were not hit. */
  readonly lost: Array<string>
  /** Wrong answers about agents that were hit, without a word of the service before it had read all files. */
  readonly early: Array<string>
  /** The same afterwards. */
  readonly silent: Array<string>
  /** Agents that were hit, and that the service then said to be damaged. */
  readonly setAside: Array<string>
  /** Agents that were set aside and had not been hit. */
  readonly wronglySetAside: Array<string>
  /** Background work that ended, books that differ, starts and stops that failed. */
  readonly faults: Array<string>
}

export interface StormOptions {
  readonly disk: CutDisk
  readonly minutes: number
  readonly random: SeededRandom
  /** Of the server. */
  readonly onLife?: (told: string) => void
}

export const runStorm = async ({ disk, ...options }: StormOptions) => {
  const storm = new Storm({ disk, ...options })
  try {
    return await storm.run()
  } catch (cause) {
    throw new Error(`the storm was cut short: ${String(cause)}\n${storm.lastWords}`, { cause })
  } finally {
    await storm.end()
    await disk.remove()
  }
}

/** What goes wrong while the service runs is wrong: the storm ends there. */
const isWrong = ({ faults, lost, silent, wronglySetAside }: StormReport): boolean =>
  faults.length + lost.length + silent.length + wronglySetAside.length > 0

class Storm {
  readonly #options: StormOptions
  readonly #random: SeededRandom
  readonly #directory: string
  readonly #flips: StormFlips
  readonly #report: StormReport = {
    lives: 0,
    kills: 0,
    cuts: 0,
    stops: 0,
    checks: 0,
    readers: 0,
    refusals: 0,
    mended: 0,
    restored: 0,
    acknowledged: 0,
    lost: [],
    early: [],
    silent: [],
    setAside: [],
    wronglySetAside: [],
    faults: []
  }
  readonly #agents: Array<StormAgent> = []
  /** Tags of agents that a flip may have taken something from, with what was hit. */
  readonly #hit = new Map<string, Array<string>>()
  /** The one that was started last. */
  #server: TestServer | undefined
  #isUp = false
  #reader: OutsideReader | undefined
  /** Flips that the next start may refuse. */
  readonly #small: Array<Flip> = []
  /** Agents whose files come back from the backup once the service is down. */
  readonly #broken: Array<StormAgent> = []
  readonly #backups: AgentBackups
  #accounts = 0
  /** Names of the background work that a service has. */
  #rounds: ReadonlyArray<string> = []

  constructor(options: StormOptions) {
    this.#options = options
    this.#random = options.random
    this.#directory = options.disk.directory
    this.#flips = new StormFlips(this.#directory, options.random)
    this.#backups = new AgentBackups(this.#directory)
  }

  async run() {
    const end = Date.now() + this.#options.minutes * 60_000 - checkedLifeMillis
    let checkAt = Date.now() + checkedEachMillis
    while (Date.now() < end && !isWrong(this.#report)) {
      if (Date.now() < checkAt) await this.#life()
      else {
        await this.#checkedLife()
        checkAt = Date.now() + checkedEachMillis
      }
    }
    // Judges the flips since the last one.
    if (!isWrong(this.#report)) await this.#checkedLife()
    return { ...this.#report, flips: this.#flips.counts }
  }

  /** Of the service that was started last. */
  get lastWords(): string {
    if (this.#server === undefined) return ""
    const { output, process } = this.#server
    return `exit code ${process.exitCode}, signal ${process.signalCode}: ${output().slice(-3_000)}`
  }

  async end(): Promise<void> {
    await this.#endReader()
    if (this.#isUp) await this.#server?.kill()
    this.#backups.remove()
  }

  async #life(): Promise<void> {
    const server = await this.#start()
    if (this.#random.next() < 0.6) this.#reader ??= this.#newReader()
    const load = this.#load(Infinity)
    await pause(this.#random.between(lifeMillis.least, lifeMillis.most))
    await this.#lookAtRounds(server)
    await this.#endService(server, load)
    await this.#bringBack()
    const flips = this.#random.between(0, 2)
    for (let at = 0; at < flips; at++) this.#hitBy(this.#flips.flip(this.#random.pick(stoppedKinds)!))
    this.#tellLife()
  }

  /** Until the service has read all files. A flip in `control.db` comes alone: it may change whose what is until then. */
  async #checkedLife(): Promise<void> {
    rmSync(join(this.#directory, "scrub.json"), { force: true })
    const control = this.#random.next() < 0.5 ? this.#flips.flip(this.#random.pick(controlKinds)!) : undefined
    if (control === undefined) {
      const server = await this.#start()
      this.#reader ??= this.#newReader()
      const load = this.#load(Date.now() + flippedBeforeCheckMillis)
      await Promise.all([this.#untilRead(server), this.#backups.make()])
      await load.end()
    } else {
      this.#small.push(control)
      const server = await this.#started()
      const found = await this.#untilRead(server)
      // The next start makes it again.
      if (found.some(({ file }) => file.startsWith("control.db"))) await this.#stop(server)
      await this.#start()
    }
    const looked = this.#agents.filter((agent) => !this.#broken.includes(agent))
    await Promise.all(looked.map((agent) => this.#look(agent, this.#report.silent)))
    const server = await this.#start()
    await this.#lookAtRounds(server)
    this.#report.checks++
    await this.#endService(server, this.#load(0))
    await this.#bringBack()
    this.#tellLife()
  }

  /** Starts the service unless it runs, and asks it for everything that it acknowledged. */
  async #start(): Promise<TestServer> {
    const server = this.#isUp ? this.#server! : await this.#started()
    while (this.#agents.length < agentCount) this.#agents.push(await this.#newAgent())
    await Promise.all(
      this.#agents.map((agent) => (agent.isDoubtful ? undefined : this.#look(agent, this.#report.early)))
    )
    const books = await server.asOperator("GET", "/admin/ledger/check")
    if (books.body.ok !== true) this.#report.faults.push(`the books: ${JSON.stringify(books.body)}`)
    return server
  }

  /** A start that refuses what was hit must name it; then its operator brings another copy. */
  async #started(): Promise<TestServer> {
    const { disk } = this.#options
    const environment = { ...disk.environment, MUNIMENT_EMBEDDING_MODEL: "none" }
    const options = { dataDirectory: this.#directory, environment }
    const hit = this.#small.splice(0)
    try {
      this.#server = await startServer(options)
    } catch (cause) {
      if (!hit.some(({ file }) => String(cause).includes(file.split(".")[0]!))) throw cause
      this.#report.refusals++
      for (const flip of hit) this.#flips.undo(flip)
      this.#server = await startServer(options)
    }
    this.#isUp = true
    this.#report.lives++
    return this.#server
  }

  #hitBy(flip: Flip | undefined): void {
    if (flip?.kind === "small file") this.#small.push(flip)
    if (flip?.tag === undefined) return
    const { bit, file, kind, tag } = flip
    const told = `${kind}: ${file}, byte ${bit.at}, bit ${bit.bit}`
    this.#hit.set(tag, [...(this.#hit.get(tag) ?? []), told])
  }

  /** Writers of all agents, the other program, and flips until a moment. */
  #load(flipsUntil: number): Load {
    const over = { now: false }
    const writers = this.#agents.flatMap((agent) =>
      Array.from({ length: writersPerAgent }, (_, at) => this.#write(agent, `w${at}`, over))
    )
    const work = Promise.all([...writers, this.#flipWhile(over, flipsUntil), this.#readWhile(over)])
    const end = async () => {
      over.now = true
      await work
    }
    return { over, end }
  }

  async #write(agent: StormAgent, writer: string, over: Over): Promise<void> {
    while (!over.now && !agent.isDoubtful) {
      const operation = agent.ledger.next(writer, agent.name)
      if (!(await this.#send(agent, operation, over))) return
    }
  }

  /** Repeated under its key while the service cannot carry it out, as the contract says. */
  async #send(agent: StormAgent, operation: Operation, over: Over): Promise<boolean> {
    for (;;) {
      const answer = await agent.calls
        .call(operation.method, operation.path, {
          ...(operation.body !== undefined && { body: operation.body }),
          headers: { "idempotency-key": operation.key }
        })
        .catch(() => undefined)
      if (answer === undefined) return false
      if (answer.status !== 503) {
        agent.ledger.answered(operation, answer)
        if (answer.status === 200) this.#report.acknowledged++
        return true
      }
      if (over.now) return false
      await pause(againMillis)
    }
  }

  async #flipWhile(over: Over, until: number): Promise<void> {
    while (Date.now() < until) {
      await pauseUnless(over, this.#random.between(flipEachMillis.least, flipEachMillis.most))
      if (over.now) return
      this.#hitBy(this.#flips.flip(this.#random.pick(runningKinds)!))
    }
  }

  async #readWhile(over: Over): Promise<void> {
    for (;;) {
      const reader = this.#reader
      if (reader === undefined || over.now) return
      const millis = this.#random.between(10, 1_000)
      const roll = this.#random.next()
      if (roll < 0.5) await reader.round()
      else if (roll < 0.8) await reader.hold(millis)
      else await reader.lock(this.#random.between(0, 99), millis)
      this.#report.readers++
    }
  }

  #newReader(): OutsideReader {
    return startOutsideReader(this.#directory, this.#options.disk.environment)
  }

  async #endReader(): Promise<void> {
    const reader = this.#reader
    this.#reader = undefined
    await reader?.stop()
  }

  async #endService(server: TestServer, { end, over }: Load): Promise<void> {
    // Else in the middle of what the writers ask for.
    if (this.#random.next() < 0.2) await end()
    const roll = this.#random.next()
    if (roll < 0.4) {
      // A disk that is taken away must not be in use.
      await this.#endReader()
      this.#isUp = false
      over.now = true
      await this.#options.disk.cut(() => server.kill())
      this.#report.cuts++
    } else if (roll < 0.9) {
      this.#isUp = false
      over.now = true
      await server.kill()
      this.#report.kills++
      // Else it stays, and is the last one at the files.
      if (this.#random.next() < 0.5) await this.#endReader()
    } else await this.#stop(server)
    await end()
  }

  async #stop(server: TestServer): Promise<void> {
    this.#isUp = false
    const code = await server.stop()
    this.#report.stops++
    if (code !== 0) this.#report.faults.push(`a stop ended with ${code}: ${server.output().slice(-1_000)}`)
  }

  /** What is wrong with an agent that was hit goes into `ifHit`. */
  async #look(agent: StormAgent, ifHit: Array<string>): Promise<void> {
    const faults = await this.#faultsOf(agent)
    if (this.#broken.includes(agent)) return
    const isHit = this.#hit.has(agent.tag() ?? "")
    const list = isHit ? ifHit : this.#report.lost
    list.push(...faults.map((fault) => this.#told(agent, fault)))
    agent.isDoubtful = faults.length > 0 && ifHit !== this.#report.silent
  }

  /** None of an agent that the service says to be damaged: its file comes back from a backup, or another takes its place. */
  async #faultsOf(agent: StormAgent): Promise<ReadonlyArray<string>> {
    for (const until = Date.now() + patienceMillis; ;) {
      try {
        for (const operation of agent.ledger.open()) await this.#send(agent, operation, { now: true })
        if (agent.ledger.open().length > 0) throw new Error(`${agent.name}: an operation that was cut off stays open`)
        await agent.ledger.verifyTouched(agent.calls)
        await agent.ledger.verifyAll(agent.calls, [agent.name])
        await agent.ledger.verifySearch(agent.calls, agent.name)
        return agent.ledger.takeFaults()
      } catch (cause) {
        if (Date.now() > until) throw cause
        if (await this.#isSetAside(agent)) {
          await this.#replace(agent)
          return []
        }
        await pause(againMillis)
      }
    }
  }

  /** For so long that it is not under way to be made again. */
  async #isSetAside(agent: StormAgent): Promise<boolean> {
    for (const until = Date.now() + setAsideMillis; Date.now() < until; await pause(againMillis))
      if ((await this.#quarantined(agent)) === undefined) return false
    return true
  }

  async #quarantined(agent: StormAgent): Promise<string | undefined> {
    const { body } = await this.#server!.asOperator("GET", "/admin/status")
    const found = body.quarantined.find(({ file }: { readonly file: string }) => file.includes(agent.tag() ?? "none"))
    return found?.reason
  }

  async #replace(agent: StormAgent): Promise<void> {
    const told = this.#told(agent, (await this.#quarantined(agent)) ?? "served again")
    const isHit = this.#hit.has(agent.tag() ?? "")
    ;(isHit ? this.#report.setAside : this.#report.wronglySetAside).push(told)
    if (this.#backups.isMade && !agent.isRestored && this.#broken.length < broughtBackMax) {
      agent.isDoubtful = true
      return void this.#broken.push(agent)
    }
    const erased = await this.#server!.asOperator("POST", "/admin/accounts/erase", { account: agent.name })
    if (erased.status !== 200) this.#report.faults.push(`not erased: ${JSON.stringify(erased.body)}`)
    this.#agents[this.#agents.indexOf(agent)] = await this.#newAgent()
  }

  async #bringBack(): Promise<void> {
    await this.#backups.bringBack(this.#broken.flatMap((agent) => agent.tag() ?? []))
    for (const agent of this.#broken.splice(0)) {
      agent.isRestored = true
      agent.isDoubtful = false
      this.#report.restored++
    }
  }

  #newAgent(): Promise<StormAgent> {
    return newStormAgent(() => this.#server!, `agent-${this.#accounts++}`, this.#random)
  }

  #told(agent: StormAgent, fault: string): string {
    return `${agent.name} (${agent.tag()}): ${fault} [hit: ${(this.#hit.get(agent.tag() ?? "") ?? []).join("; ")}]`
  }

  /** What a round that has read all files says of them. */
  async #untilRead(server: TestServer): Promise<ReadonlyArray<{ readonly file: string; readonly isMended: boolean }>> {
    for (const until = Date.now() + 2 * patienceMillis; ; await pause(againMillis)) {
      const { body } = await server.asOperator("GET", "/admin/status")
      if (body.scrub?.isRunning === false && body.scrub.ageSeconds !== null) {
        this.#report.mended += body.scrub.damaged.filter((one: { readonly isMended: boolean }) => one.isMended).length
        return body.scrub.damaged
      }
      if (Date.now() > until) throw new Error("the round that reads all files has not ended")
    }
  }

  async #lookAtRounds(server: TestServer): Promise<void> {
    const { body } = await server.asOperator("GET", "/admin/status")
    const open = body.rounds.filter((round: { readonly open: number }) => round.open > 0)
    const names: ReadonlyArray<string> = open
      .map(({ name }: { readonly name: string }) => name)
      .filter((name: string) => !endingRounds.has(name))
    const gone = this.#rounds.filter((name) => !names.includes(name))
    if (gone.length > 0) this.#report.faults.push(`background work has ended: ${gone.join(", ")}`)
    this.#rounds = this.#rounds.length === 0 ? names : this.#rounds
  }

  #tellLife(): void {
    this.#options.onLife?.(stormSummary({ ...this.#report, flips: this.#flips.counts }))
  }
}

/** Background work that ends once it has succeeded. */
const endingRounds: ReadonlySet<string> = new Set(["costs of vector searches", "search for conversations to be read"])

interface Over {
  now: boolean
}

interface Load {
  readonly over: Over
  /** Waits for what is under way. */
  readonly end: () => Promise<void>
}

/** Counts in one line. */
export const stormSummary = (report: Awaited<ReturnType<typeof runStorm>>): string =>
  Object.entries(report)
    .map(([name, value]) => {
      if (Array.isArray(value)) return `${name} ${value.length}`
      return `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`
    })
    .join(", ")

const pause = (millis: number) => new Promise<void>((wake) => setTimeout(wake, millis))

const pauseUnless = async (over: Over, millis: number): Promise<void> => {
  for (const until = Date.now() + millis; !over.now && Date.now() < until;) await pause(Math.min(50, millis))
}
