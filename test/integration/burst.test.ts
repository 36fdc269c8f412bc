/** 200 tasks at once through each client. Beside a loop without end: `burst-on-a-busy-machine.long.test.ts`. */
import { describe } from "vitest"
import { loseNothing } from "../support/Burst.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer()

describe("200 tasks at once that say something, search and ask for a context lose nothing", () =>
  loseNothing(() => server))
