/** Operator routes of the console's sessions (contract: Console). Same credentials as the other operator routes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ConsoleLink, SessionRecord } from "../Console.ts"
import { NotFound } from "../Errors.ts"
import { BodyLimit, OperatorAuthorization, Validation, WellFormedRequest } from "./Middleware.ts"
import { operation } from "./Operation.ts"

const success = Schema.Literal(true)

export class ConsoleAdminApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.post("createConsoleLink", "/console-links", {
      success: Schema.Struct({ success, link: ConsoleLink })
    }).annotateMerge(
      operation("Make a one-time link to the console", {
        description: "It signs one browser in as the operator, once, within ten minutes."
      })
    ),
    HttpApiEndpoint.get("listSessions", "/sessions", {
      success: Schema.Struct({ success, sessions: Schema.Array(SessionRecord) })
    }).annotateMerge(operation("Sessions of the console", { description: "Newest first." })),
    HttpApiEndpoint.delete("endSession", "/sessions/:id", {
      params: { id: Schema.String.annotate({ examples: ["ses_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }) },
      success: Schema.Struct({ success, session: SessionRecord }),
      error: NotFound
    }).annotateMerge(operation("End a session of the console", { description: "Its browser has to sign in again." }))
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}
