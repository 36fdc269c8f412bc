/** Trace of one run, as a digest that a replay has to meet, and as lines for who looks into a seed. */
import { createHash } from "node:crypto"

let isTold = false

/** From now on every step is printed. */
export const tellSteps = (): void => {
  isTold = true
}

export class Trace {
  #told = ""

  note(step: number, atMillis: number, words: ReadonlyArray<string | number>): void {
    const line = `${step} ${new Date(atMillis).toISOString()} ${words.join(" ")}\n`
    this.#told += line
    if (isTold) process.stdout.write(line)
  }

  get digest(): string {
    return createHash("sha256").update(this.#told).digest("hex").slice(0, 16)
  }
}
