/** Tests by behaviour. Long ones (`*.long.test.ts`) run only when asked for; `scripts/test.ts` sets this. */
import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

const includesLong = process.env["MUNIMENT_LONG_TESTS"] === "1"

export default defineConfig({
  test: {
    include: ["test/{unit,integration,property,simulation,crash}/**/*.test.ts"],
    exclude: includesLong ? [] : ["**/*.long.test.ts"],
    // vitest leaves a core free; these tests wait for servers and clocks, and two files at once suit two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: includesLong ? 600_000 : 30_000,
    hookTimeout: 30_000
  }
})
