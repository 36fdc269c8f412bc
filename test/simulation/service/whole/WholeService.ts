/** One life of the whole service, from its start to its crash: everything that `muniment serve` runs, but for sockets. */
import { Clock, ConfigProvider, Effect, Fiber, Layer, Logger, Random } from "effect"
import { join } from "node:path"
import { runServer } from "@muniment/server/App"
import type { SimulatedClock } from "../SimulatedClock.ts"
import { listening } from "./ListenerStand.ts"
import { seededChance } from "./SeededCrypto.ts"

export const operatorToken = "operator-token-of-the-simulation-0123456789"

export interface WholeSettings {
  /** Credits of each account. */
  readonly monthlyAllowance: number
}

export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

export interface Call {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const environment = (directory: string, { monthlyAllowance }: WholeSettings) => ({
  MUNIMENT_DATA_DIR: directory,
  MUNIMENT_EMBEDDING_MODEL: "none",
  MUNIMENT_OPERATOR_TOKEN: operatorToken,
  MUNIMENT_BOOTSTRAP_KEY: "mun_operator_key_of_the_simulation_0123456789",
  MUNIMENT_MONTHLY_ALLOWANCE: String(monthlyAllowance),
  MUNIMENT_RATE_LIMITS: "off",
  MUNIMENT_PAYMENT_NETWORKS: "base-sepolia",
  MUNIMENT_EVM_PAY_TO: "0x00000000000000000000000000000000000000aa"
})

export class WholeService {
  readonly directory: string
  readonly #clock: SimulatedClock
  readonly #settings: WholeSettings
  #fiber: Fiber.Fiber<unknown, unknown> | undefined
  #handler: ((request: Request) => Promise<Response>) | undefined

  constructor(directory: string, settings: WholeSettings, clock: SimulatedClock) {
    this.directory = directory
    this.#settings = settings
    this.#clock = clock
  }

  get logDirectory(): string {
    return join(this.directory, "log")
  }

  get start(): Promise<void> {
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const provider = ConfigProvider.fromEnv({ env: environment(this.directory, this.#settings) })
    const onReady = () =>
      Effect.sync(() => {
        this.#handler = listening()
        resolve()
      })
    const served = runServer({ onReady }).pipe(
      Effect.provide(Layer.merge(ConfigProvider.layer(provider), Logger.layer([]))),
      Effect.provideService(Clock.Clock, this.#clock),
      Effect.provideService(Random.Random, seededChance)
    )
    this.#fiber = Effect.runFork(served)
    this.#fiber.addObserver((exit) => exit._tag === "Failure" && reject(new Error(String(exit.cause))))
    return promise
  }

  async call({ body, headers = {}, key, method, path }: Call): Promise<Answer> {
    if (this.#handler === undefined) throw new Error("the service has not started")
    const request = new Request(`http://127.0.0.1:8787${path.startsWith("/admin") ? "" : "/v1"}${path}`, {
      method,
      headers: {
        host: "127.0.0.1:8787",
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers
      },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const response = await this.#handler(request)
    const text = await response.text()
    return { status: response.status, body: text === "" ? {} : JSON.parse(text) }
  }

  /** Ends what is left of a process whose files are gone. */
  get bury(): Promise<void> {
    const fiber = this.#fiber
    return fiber === undefined ? Promise.resolve() : Effect.runPromise(Effect.ignore(Fiber.interrupt(fiber)))
  }
}
