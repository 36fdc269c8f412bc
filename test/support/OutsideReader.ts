/** Another program at the database files of a directory beside the service, again and again until it is stopped. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { repository } from "./TestServer.ts"

export interface OutsideReader {
  /** Opens, reads and closes every file once. */
  readonly round: () => Promise<void>
  /** Reads every file in one transaction each, which stay open for so long. */
  readonly hold: (millis: number) => Promise<void>
  /** Has the right to write to one of the files for so long. */
  readonly lock: (file: number, millis: number) => Promise<void>
  /** -> how many rounds it made. */
  readonly stop: () => Promise<number>
}

export const startOutsideReader = (
  directory: string,
  environment: Readonly<Record<string, string>> = {}
): OutsideReader => {
  const child = spawn(process.execPath, [join(repository, "test/support/outsideReader.mjs"), directory], {
    env: { ...process.env, ...environment },
    stdio: ["pipe", "pipe", "inherit"]
  })
  const ended = once(child, "exit")
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let rounds = 0
  const ask = async (line: string): Promise<void> => {
    child.stdin.write(`${line}\n`)
    if ((await answers.next()).done === true) throw new Error("the outside reader has ended")
    rounds++
  }
  const stop = async (): Promise<number> => {
    child.stdin.end("\n")
    await ended
    return rounds
  }
  return {
    round: () => ask("look"),
    hold: (millis) => ask(`hold ${millis}`),
    lock: (file, millis) => ask(`lock ${millis} ${file}`),
    stop
  }
}

/** Rounds without a pause while `use` runs. */
export const besideReader = async <A>(directory: string, use: () => Promise<A>): Promise<A> => {
  const reader = startOutsideReader(directory)
  const isOver = { now: false }
  const rounds = (async () => {
    while (!isOver.now) await reader.round()
  })()
  try {
    return await use()
  } finally {
    isOver.now = true
    await rounds
    await reader.stop()
  }
}
