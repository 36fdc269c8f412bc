/**
 * The load generator: a process of its own (`generatorProcess.ts`), so that a flood delays no measurement that is taken
 * beside it. What it could not send in time shows as its lag.
 */
import { fork, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import type { Tally } from "./Load.ts"
import type { Target } from "./Wire.ts"
import type { KindOfWork } from "./Work.ts"

export interface Load {
  readonly kind: KindOfWork
  readonly key: string
  readonly seconds: number
  /** So many requests under way, or arrivals a second whatever becomes of earlier ones. */
  readonly arrivals: { readonly callers: number } | { readonly perSecond: number }
}

export interface GeneratorSettings {
  readonly target: Target
  readonly connectionsMax: number
}

export class Generator {
  readonly #child: ChildProcess

  constructor(settings: GeneratorSettings) {
    this.#child = fork(join(import.meta.dirname, "generatorProcess.ts"), [JSON.stringify(settings)], {
      serialization: "advanced",
      execArgv: ["--disable-warning=ExperimentalWarning"]
    })
  }

  async run(load: Load): Promise<Tally> {
    const gone = once(this.#child, "exit").then(([code]) => {
      throw new Error(`the load generator ended with ${code}`)
    })
    const answer = once(this.#child, "message").then(([tally]) => tally as Tally)
    this.#child.send(load)
    gone.catch(() => undefined)
    return Promise.race([answer, gone])
  }

  async close(): Promise<void> {
    const gone = once(this.#child, "exit")
    this.#child.disconnect()
    await gone
  }
}
