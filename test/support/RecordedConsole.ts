/** Output of a command that runs in this process, line by line. */
import type { Console } from "effect"

export class RecordedConsole {
  readonly #out: Array<string> = []
  readonly #err: Array<string> = []
  /** For `Effect.provideService`. */
  readonly console: Console.Console = {
    ...globalThis.console,
    log: (...parts) => void this.#out.push(parts.join(" ")),
    error: (...parts) => void this.#err.push(parts.join(" "))
  }

  get out(): string {
    return this.#out.join("\n")
  }

  get err(): string {
    return this.#err.join("\n")
  }
}
