/**
 * One seed: callers write, repeat, lose and delay requests, threads and time move in an order that the seed chooses, and
 * the process is killed or loses power at any step. Every answer is judged by the model.
 *
 * Invariant: nothing depends on the wall clock, on chance outside the seed, or on the order of real input and output.
 */
import { Effect, type Exit } from "effect"
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { memoryRecord, namespaceKey } from "../../support/EngineFixtures.ts"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { SeededRandom } from "../../support/SeededRandom.ts"
import { copyFiles, removeDirectory } from "./Copies.ts"
import { cut, failAfter, forgetDisk } from "./LogDisk.ts"
import { Model, type Write } from "./Model.ts"
import { busyThreads, failureOf, Service, settle } from "./Service.ts"
import { SimulatedClock } from "./SimulatedClock.ts"
import { Trace } from "./Trace.ts"

const dayMillis = 86_400_000
const startMillis = Date.UTC(2026, 0, 5)
/** Turns after which a request that is not answered, while nothing else goes on, counts as stuck. */
const turnsMax = 3_000
const triesMax = 4
const keptDays = 30

interface Tenant {
  readonly key: NamespaceKey
  readonly model: Model
  writing: number
}

interface Delivery {
  readonly tenant: Tenant
  readonly write: Write
}

export interface Finding {
  readonly step: number
  readonly fault: string
}

export interface SimulationResult {
  readonly seed: number
  readonly digest: string
  readonly crashes: number
  readonly acknowledged: number
  readonly finding: Finding | undefined
}

export const simulate = async (seed: number, steps: number): Promise<SimulationResult> => {
  const simulation = new Simulation(seed)
  try {
    return await simulation.run(steps)
  } finally {
    await simulation.end()
  }
}

class Fault extends Error {}

class Simulation {
  readonly #seed: number
  readonly #random: SeededRandom
  readonly #clock = new SimulatedClock(startMillis)
  readonly #trace = new Trace()
  readonly #root: string
  readonly #tenants: ReadonlyArray<Tenant>
  #network: Array<Delivery> = []
  /** Requests that the service has and has not answered. */
  #underWay: Array<Delivery> = []
  #service: Service
  #life = 0
  #step = 0
  #lastNumber = 0
  #crashes = 0
  #acknowledged = 0
  #fault: string | undefined
  #mustRestart = false
  /** The log's disk fails in this life. */
  #isDiskFaulty = false

  constructor(seed: number) {
    this.#seed = seed
    this.#random = new SeededRandom(seed)
    const memory = "/dev/shm"
    this.#root = join(existsSync(memory) ? memory : tmpdir(), `muniment-simulation-${process.pid}-${seed}`)
    const names = [
      ["acc_one", "a"],
      ["acc_one", "b"],
      ["acc_two", "a"]
    ] as const
    this.#tenants = names.map(([account, agent]) => ({
      key: namespaceKey(agent, account),
      model: new Model(),
      writing: 0
    }))
    this.#service = this.#next()
  }

  async run(steps: number): Promise<SimulationResult> {
    try {
      await this.#open()
      for (; this.#step < steps && this.#fault === undefined; this.#step++) await this.#act()
      await this.#drain()
      for (const isPower of [false, true]) {
        for (const tenant of this.#tenants) await this.#read(tenant)
        await this.#crash(isPower)
      }
      for (const tenant of this.#tenants) await this.#read(tenant)
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
    const chance = this.#random.next()
    if (this.#mustRestart) return this.#crash(this.#random.next() < 0.5)
    if (chance < 0.22) this.#begin()
    else if (chance < 0.5) this.#deliver()
    else if (chance < 0.8) await this.#turn()
    else if (chance < 0.88) await this.#pass()
    else if (chance < 0.96) await this.#read(this.#pick(this.#tenants))
    else if (chance < 0.968) await this.#purge(this.#pick(this.#tenants))
    else if (chance < 0.975) this.#breakDisk()
    else if (chance < 0.99) await this.#crash(this.#random.next() < 0.7)
    await settle()
    if (this.#fault !== undefined) throw new Fault(this.#fault)
  }

  #pick<A>(choices: ReadonlyArray<A>): A {
    const chosen = this.#random.pick(choices)
    if (chosen === undefined) throw new Error("nothing to choose from")
    return chosen
  }

  #note(...words: ReadonlyArray<string | number>): void {
    this.#trace.note(this.#step, this.#clock.currentTimeMillisUnsafe(), words)
  }

  /** A caller decides to write; one to three copies of the request are on their way. */
  #begin(): void {
    const tenant = this.#pick(this.#tenants)
    const { free } = tenant.model
    const kind = free.length === 0 ? "create" : this.#pick(["create", "create", "replace", "remove"] as const)
    this.#send({ tenant, write: this.#writeOf(tenant, kind) }, this.#random.next() < 0.3 ? 2 : 1)
  }

  #writeOf(tenant: Tenant, kind: Write["kind"]): Write {
    const { free } = tenant.model
    const number = ++this.#lastNumber
    const isShort = kind === "create" && this.#random.next() < 0.15
    const write: Write = {
      key: `key-${number}`,
      kind,
      id: kind === "create" ? undefined : this.#pick(free),
      text: `text ${number} of ${tenant.key.tag}`,
      expiresAt: isShort ? this.#clock.currentTimeMillisUnsafe() + this.#random.between(1_000, 400_000) : undefined,
      deliveredAt: undefined,
      offered: [],
      done: [],
      copies: 0,
      tries: 0,
      isAcknowledged: false
    }
    tenant.model.begin(write)
    return write
  }

  #send(delivery: Delivery, copies: number): void {
    delivery.write.tries++
    delivery.write.copies += copies
    for (let copy = 0; copy < copies; copy++) this.#network.push(delivery)
  }

  /** Any request of the network arrives, is lost, or is lost on its way back. */
  #deliver(): void {
    if (this.#network.length === 0) return
    const [delivery] = this.#network.splice(this.#random.between(0, this.#network.length - 1), 1)
    if (delivery === undefined) return
    const { tenant, write } = delivery
    const fate = this.#random.next()
    this.#note("deliver", write.kind, write.key, fate.toFixed(3))
    if (fate < 0.08) return this.#over(delivery)
    const life = this.#life
    tenant.writing++
    this.#underWay.push(delivery)
    void this.#carryOut(delivery, this.#service).then((exit) => {
      if (life !== this.#life) return
      tenant.writing--
      this.#underWay.splice(this.#underWay.indexOf(delivery), 1)
      const failure = failureOf(exit)
      this.#note("answer", write.key, failure ?? "stored")
      if (fate > 0.9) return this.#over(delivery)
      if (failure === undefined) this.#stored(delivery, exit)
      else this.#refused(delivery, failure)
    })
  }

  async #carryOut({ tenant: { key, model }, write }: Delivery, server: Service) {
    const idempotency = { key: write.key, fingerprint: write.key }
    const { expiresAt, id, kind, text } = write
    const now = this.#clock.currentTimeMillisUnsafe()
    const number = ++this.#lastNumber
    const fresh = memoryRecord(number, text, { agentId: key.agentId, createdAt: now, updatedAt: now, expiresAt })
    const offer = model.deliver(write, kind === "create" ? fresh.id : undefined, now)
    const asked = Effect.gen(function* () {
      const host = yield* NamespaceHost
      if (kind === "remove") {
        const count = yield* host.ask(key, { _tag: "RemoveMemories", ids: [id ?? ""], idempotency })
        return { id, count }
      }
      const record = kind === "create" ? fresh : { ...fresh, id: id ?? "" }
      const isReplacement = kind === "replace"
      const memories = [{ record, vector: undefined, isReplacement, setsExpiry: expiresAt !== undefined }]
      const stored = yield* host.ask(key, { _tag: "StoreMemories", memories, idempotency })
      return { id: stored.created[0]?.id, count: stored.created.length }
    })
    const exit = await server.run(asked)
    if (offer !== undefined) offer.until ??= this.#clock.currentTimeMillisUnsafe()
    return exit
  }

  #stored(
    delivery: Delivery,
    exit: Exit.Exit<{ readonly id: string | undefined; readonly count: number }, unknown>
  ): void {
    if (exit._tag !== "Success") return
    this.#acknowledged++
    const now = this.#clock.currentTimeMillisUnsafe()
    this.#fault ??= delivery.tenant.model.acknowledge(delivery.write, exit.value, now)
    this.#over(delivery)
  }

  #refused(delivery: Delivery, failure: string): void {
    const { write } = delivery
    if (this.#isDiskFaulty && (failure === "Unavailable" || failure === "InsufficientStorage")) this.#mustRestart = true
    else this.#fault ??= `${write.kind} ${write.key} of ${write.id} is answered with ${failure}`
    this.#over(delivery)
  }

  /** The caller repeats a request that nobody answered. */
  #over(delivery: Delivery): void {
    const { tenant, write } = delivery
    write.copies--
    if (!write.isAcknowledged && write.tries < triesMax && write.copies === 0) this.#send(delivery, 1)
    else if (write.copies === 0) tenant.model.end(write)
  }

  async #turn(): Promise<void> {
    const busy = busyThreads()
    if (busy.length === 0) return
    const thread = this.#pick(busy)
    const count = thread.name === "log" ? this.#random.between(1, thread.waiting) : 1
    this.#note("turn", thread.name, count)
    await thread.turn(count)
  }

  async #pass(): Promise<void> {
    const chance = this.#random.next()
    const millis =
      chance < 0.7 ? this.#random.between(1, 150) : this.#random.between(150, chance < 0.95 ? 90_000 : dayMillis)
    const until = this.#clock.currentTimeMillisUnsafe() + millis
    // Housekeeping of a long time is the same every minute.
    await this.#clock.advanceTo(Math.min(until, this.#clock.currentTimeMillisUnsafe() + 120_000), settle)
    this.#clock.jumpTo(until)
    this.#note("pass", millis)
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

  /** After every crash there is a service again. */
  async #open(): Promise<void> {
    await this.#until(this.#service.start).catch((cause: unknown) => {
      throw cause instanceof Fault ? cause : new Fault(`the service does not start: ${String(cause)}`)
    })
  }

  async #read({ key, model, writing }: Tenant): Promise<void> {
    const judge = model.expectation()
    const from = this.#clock.currentTimeMillisUnsafe()
    const listed = Effect.flatMap(MemorySearch, (search) => search.list([key], {}, { after: undefined, limit: 10_000 }))
    const exit = await this.#until(this.#service.run(listed))
    if (exit._tag === "Failure") {
      this.#note("read", key.tag, "failed")
      if (!this.#isDiskFaulty || failureOf(exit) !== "Unavailable")
        throw new Fault(`a read is answered with ${failureOf(exit)}`)
      return void (this.#mustRestart = true)
    }
    const seen = new Map(exit.value.memories.map(({ data, id }) => [id, String(data["fact"])]))
    const now = this.#clock.currentTimeMillisUnsafe()
    this.#note("read", key.tag, ...[...seen].flat())
    const [fault] = judge(seen, from, now)
    if (fault !== undefined) throw new Fault(fault)
    model.learn(seen, now, writing === 0)
  }

  /** What is older than `keptDays` goes, to the millisecond; until it is certain nobody else writes there. */
  async #purge(tenant: Tenant): Promise<void> {
    await this.#drain()
    const { key, model } = tenant
    const beforeMillis = this.#clock.currentTimeMillisUnsafe() - this.#random.between(0, keptDays) * (dayMillis / 30)
    const removed = Effect.flatMap(NamespaceHost, (host) =>
      host.removeAll(key, { _tag: "RemoveCreatedBefore", beforeMillis })
    )
    const exit = await this.#until(this.#service.run(removed))
    model.purge(beforeMillis, exit._tag === "Success")
    if (exit._tag === "Failure" && !this.#isDiskFaulty) throw new Fault(`a purge is answered with ${failureOf(exit)}`)
    if (exit._tag === "Failure") this.#mustRestart = true
    this.#note("purge", key.tag, beforeMillis, exit._tag)
  }

  /** Until every request is answered or given up, and certain: what a broken log has of one shows at the next start. */
  async #drain(): Promise<void> {
    const isUnderWay = () => this.#network.length > 0 || this.#tenants.some(({ writing }) => writing > 0)
    for (let turns = 0; this.#mustRestart || isUnderWay(); turns++) {
      if (turns > turnsMax) throw new Fault("requests are not answered")
      if (this.#mustRestart) await this.#crash(false)
      this.#deliver()
      await settle()
      const { next } = this.#clock
      if (busyThreads().length > 0) await this.#turn()
      else if (next !== undefined) await this.#clock.advanceTo(next, settle)
      await settle()
      if (this.#fault !== undefined) throw new Fault(this.#fault)
    }
  }

  async #crash(isPower: boolean): Promise<void> {
    this.#crashes++
    const before = this.#service
    this.#note("crash", isPower ? "power" : "kill")
    this.#life++
    for (const { model } of this.#tenants) model.crash(this.#clock.currentTimeMillisUnsafe())
    const after = this.#next()
    const frames = isPower ? (least: number, most: number) => this.#random.between(least, most) : undefined
    cut(before.logDirectory, after.logDirectory, isPower ? () => this.#random.next() < 0.5 : undefined)
    copyFiles(before.directory, after.directory, frames)
    await this.#until(before.bury, true)
    this.#clock.forget()
    forgetDisk(before.logDirectory)
    removeDirectory(before.directory)
    this.#forgetRequests()
    this.#service = after
    this.#mustRestart = false
    this.#isDiskFaulty = false
    await this.#open()
  }

  #breakDisk(): void {
    this.#isDiskFaulty = true
    failAfter(this.#service.logDirectory, this.#random.between(0, 6), () => this.#random.next() < 0.5)
  }

  #forgetRequests(): void {
    for (const tenant of this.#tenants) tenant.writing = 0
    const underWay = this.#underWay.splice(0)
    for (const delivery of underWay) this.#over(delivery)
  }

  #next(): Service {
    return new Service(join(this.#root, `life-${this.#life}`), this.#clock)
  }
}
