/** `muniment console`: a link that signs one browser in to the console as an operator; its sessions. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { demandService } from "../ServiceUrl.ts"
import { shownText, table, timeText } from "../Terminal.ts"
import { flags } from "./flags.ts"
import { withOperator } from "./clients.ts"

const heading = ["ID", "WHO", "SINCE", "LAST USED", "ADDRESS", "BROWSER"]

export const consoleCommand = Command.make(
  "console",
  {
    sessions: Flag.Boolean("sessions").pipe(
      Flag.withDescription("List the browsers that are signed in"),
      Flag.withDefault(false)
    ),
    end: Flag.String("end").pipe(Flag.withDescription("Sign a browser out, by the id of its session"), Flag.optional),
    json: flags.json
  },
  Effect.fn("console")(function* ({ end, json, sessions }) {
    // Links and sessions live in its memory.
    yield* demandService
    if (Option.isSome(end)) {
      const { session } = yield* withOperator(({ sessions }) => sessions.endSession({ params: { id: end.value } }))
      return yield* Console.log(json ? JSON.stringify({ session }) : `Session ${session.id} has ended.`)
    }
    if (sessions) {
      const { sessions: found } = yield* withOperator(({ sessions }) => sessions.listSessions())
      if (json) return yield* Console.log(JSON.stringify({ sessions: found }))
      const rows = found.map(({ account, address, browser, createdAt, id, lastUsedAt, operator }) => [
        id,
        operator === null ? shownText(account ?? "") : `${operator.name} (${operator.role})`,
        timeText(createdAt),
        timeText(lastUsedAt),
        address,
        shownText(browser)
      ])
      return yield* Console.log(rows.length === 0 ? "Nobody is signed in." : table([heading, ...rows]))
    }
    const { link } = yield* withOperator(({ sessions }) => sessions.createConsoleLink())
    return yield* Console.log(
      json ? JSON.stringify({ link }) : `Good for one sign-in, until ${timeText(link.expiresAt)}:\n  ${link.url}`
    )
  })
).pipe(
  Command.withDescription("Make a one-time link that signs a browser in to the console as the operator"),
  Command.withExamples([
    { command: "muniment console", description: "Print a link; open it on this machine" },
    { command: "muniment console --sessions", description: "Who is signed in" }
  ])
)
