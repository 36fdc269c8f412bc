/**
 * Tests by behaviour, in two projects. `unit` runs without server, thread or disk, which Node's permission model
 * and a set-up file enforce; `system` holds all others. Long ones (`*.long.test.ts`) run only when asked for;
 * `scripts/test.ts` sets this. Files share their workers, so that a module is loaded once per worker.
 */
import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { bundledThreads } from "./test/support/bundledThreads.ts"
import { oneBoxFiles, testNodes } from "./test/support/OneBox.ts"
import { clearSettings } from "./test/support/OwnEnvironment.ts"
import { SlowestFirst } from "./test/support/SlowestFirst.ts"

clearSettings(process.env)

const includesLong = process.env["MUNIMENT_LONG_TESTS"] === "1"
const isCluster = testNodes > 1
const exclude = includesLong ? [] : ["**/*.long.test.ts"]
/** Far above what any test takes: a busy machine must not fail one. */
const timeoutMillis = includesLong ? 3_600_000 : 600_000
/** Of one wait for a condition, as `patienceMillis` of the tests. */
const pollMillis = 150_000

export default defineConfig({
  test: {
    pool: "forks",
    isolate: false,
    // Tests wait for servers and clocks: one file more than there are cores keeps these busy.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowestFirst },
    testTimeout: timeoutMillis,
    hookTimeout: timeoutMillis,
    expect: { poll: { timeout: pollMillis } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          exclude,
          execArgv: ["--permission", "--allow-fs-read=*"],
          setupFiles: ["test/support/noServer.ts", "test/support/namedSeeds.ts"]
        }
      },
      {
        extends: true,
        plugins: [bundledThreads()],
        test: {
          name: "system",
          // Against a cluster, what speaks to the service.
          include: isCluster
            ? ["test/integration/**/*.test.ts"]
            : ["test/{component,integration,property,simulation,crash,cluster}/**/*.test.ts"],
          exclude: isCluster
            ? [...exclude, ...Object.keys(oneBoxFiles).map((name) => `test/integration/${name}`)]
            : exclude,
          setupFiles: ["test/support/namedSeeds.ts"],
          globalSetup: ["test/support/TemporaryFiles.ts", "test/support/SharedServers.ts"]
        }
      }
    ]
  }
})
