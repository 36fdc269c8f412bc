/** The operator's view of the console's sessions, and links that open one (contract: Console). */
import { Effect } from "effect"
import { Forbidden, NotFound } from "@muniment/domain/Errors"
import { ConsoleLinks } from "./ConsoleLinks.ts"
import { ConsoleSessions } from "./ConsoleSessions.ts"
import { consoleOff } from "./SignInRoutes.ts"
import { apiGroup } from "../apiGroup.ts"

const success = true as const

export const consoleAdminHandlers = apiGroup(
  "sessions",
  Effect.fnUntraced(function* (handlers) {
    const sessions = yield* ConsoleSessions
    const links = yield* ConsoleLinks

    return handlers.handleAll({
      createConsoleLink: Effect.fnUntraced(function* () {
        const link = yield* links.make
        if (link === undefined) return yield* new Forbidden({ code: "console_off", error: consoleOff })
        return { success, link }
      }),
      listSessions: () => Effect.map(sessions.list, (found) => ({ success, sessions: found })),
      endSession: Effect.fnUntraced(function* ({ params }) {
        const session = yield* sessions.end(params.id)
        if (session === undefined) {
          return yield* new NotFound({ code: "session_not_found", error: "no such session" })
        }
        return { success, session }
      })
    })
  })
)
