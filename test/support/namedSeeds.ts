/**
 * Set-up of every test file: the message of a test that failed says by which seeds it is replayed, in every report. The
 * next run chooses others.
 */
import { relative } from "node:path"
import { afterEach } from "vitest"
import { takeSeeds } from "./SeededRandom.ts"

// Those of the file before.
takeSeeds()
let seeds: ReadonlyArray<number> = []

afterEach(({ task }) => {
  seeds = [...seeds, ...takeSeeds()]
  if (task.result?.state !== "fail") return
  const file = relative(process.cwd(), task.file.filepath)
  const long = file.includes(".long.") ? "MUNIMENT_LONG_TESTS=1 " : ""
  for (const error of task.result.errors ?? [])
    for (const seed of seeds) error.message += `\nReplay: ${long}MUNIMENT_TEST_SEED=${seed} npx vitest run ${file}`
})
