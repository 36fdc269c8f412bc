/** The service under attack, who attacks it, and who only wants to use it. */
import type { Goal } from "../kit/Report.ts"
import { openLoop, p99, type Tally } from "./Load.ts"
import type { ServiceView } from "./ServiceView.ts"
import { requestBytes, type Target, Wire } from "./Wire.ts"

export interface Field {
  readonly target: Target
  readonly view: ServiceView
  readonly attackerKey: string
  readonly victimKey: string
  /** What needs the operator, or settings of a service that the suite has started; undefined for a service that runs. */
  readonly own: OwnService | undefined
  /** Of a flood. */
  readonly seconds: number
}

export interface OwnService {
  readonly newKey: (account: string) => Promise<string>
  readonly linkWallet: (account: string, address: string) => Promise<void>
  /** Another service of its own with these settings, ended afterwards. */
  readonly withAnother: <Result>(
    environment: Readonly<Record<string, string>>,
    use: (field: Field) => Promise<Result>
  ) => Promise<Result>
}

/** What an attack has shown; `said` goes into the report beside it. */
export interface Finding {
  readonly said: string
  readonly goals: ReadonlyArray<Goal>
}

export interface Attack {
  readonly name: string
  /** As a row of the report has it. */
  readonly title: string
  /** Undefined: it needs a service of its own. */
  readonly run: (field: Field) => Promise<Finding | undefined>
}

const victimPerSecond = 10
const idleSeconds = 3

export interface VictimReport {
  readonly idleP99: number
  readonly tally: Tally
}

/** Writes of the victim, alone and then beside the attack. */
export const besideVictim = async <Result>(
  { seconds, target, victimKey }: Field,
  attack: () => Promise<Result>
): Promise<VictimReport & { readonly result: Result }> => {
  const wire = new Wire(target, 64)
  let number = 0
  const write = (): Buffer => {
    number += 1
    const memories = [{ kind: "factual_memory", data: { subject: "Ann", fact: `Ann noted ${number}` } }]
    const body = JSON.stringify({ agentId: "victim", memories })
    return requestBytes(target, "POST", "/v1/memories", { key: victimKey, body })
  }
  await openLoop(wire, write, victimPerSecond, 1)
  const idle = await openLoop(wire, write, victimPerSecond, idleSeconds)
  const [tally, result] = await Promise.all([openLoop(wire, write, victimPerSecond, seconds), attack()])
  wire.close()
  return { idleP99: p99(idle.servedMillis), tally, result }
}

/** The victim is served, and soon. */
export const victimGoals = (name: string, { idleP99, tally }: VictimReport, millisMax: number): ReadonlyArray<Goal> => [
  atMost(
    `${name}: p99 of another account's writes`,
    millisMax,
    p99(tally.servedMillis),
    "ms",
    `idle ${idleP99.toFixed(0)}`
  ),
  atMost(`${name}: writes of another account not served`, 0, tally.sent - tally.servedMillis.length, "")
]

export const atMost = (name: string, wanted: number, found: number, unit: string, note?: string): Goal => ({
  name,
  bound: "at most",
  wanted,
  found,
  unit,
  ...(note !== undefined && { note })
})

/** "120 x 429, 30 x 403" */
export const countsOf = (statuses: ReadonlyArray<number>): string =>
  [...Map.groupBy(statuses, (status) => status)].map(([status, all]) => `${all.length} x ${status}`).join(", ")
