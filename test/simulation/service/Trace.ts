/** Trace of one run, as a digest that a replay has to meet, and as lines for who looks into a seed. */
import { createHash } from "node:crypto"

let isTold = false

/** From now on every step is printed. */
export const tellSteps = (): void => {
  isTold = true
}

export class Trace {
  readonly #hash = createHash("sha256")

  note(step: number, atMillis: number, words: ReadonlyArray<string | number>): void {
    const line = `${step} ${new Date(atMillis).toISOString()} ${words.join(" ")}\n`
    this.#hash.update(line)
    if (isTold) process.stdout.write(line)
  }

  get digest(): string {
    return this.#hash.copy().digest("hex").slice(0, 16)
  }
}
