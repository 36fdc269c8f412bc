/** Where `muniment mcp` finds the service, and whose memories are meant: flags of the bridge and of `mcp config`. */
import { Effect, Option } from "effect"
import { CommandFailed } from "../CommandFailed.ts"
import { servicePlace } from "../ServiceUrl.ts"
import { optionalText } from "./flags.ts"

const endpointPath = "/mcp"

export const mcpFlags = {
  url: optionalText(
    "url",
    `The endpoint; by default ${endpointPath} of MUNIMENT_URL, of the profile, or of the service of MUNIMENT_DATA_DIR`
  ),
  agentId: optionalText("agent-id", "Agent whose memories are meant when a tool call names none"),
  subjectId: optionalText("subject-id", "Subject that is meant when a tool call names none"),
  threadId: optionalText("thread-id", "Thread that is meant when a tool call names none")
}

/** Those that are given, by their names: of a flag, and with `x-` of a header. */
export const scopesOf = (given: Readonly<Record<"agentId" | "subjectId" | "threadId", Option.Option<string>>>) =>
  Object.entries({ "agent-id": given.agentId, "subject-id": given.subjectId, "thread-id": given.threadId }).flatMap(
    ([name, value]) => (Option.isSome(value) ? [[name, value.value] as const] : [])
  )

/** A URL without a path means the service's usual one; `apiKey` is that of the profile that names it. */
export const endpointOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const place = Option.isSome(given) ? undefined : yield* servicePlace(given)
  const text = Option.getOrElse(given, () => `${place?.url}${endpointPath}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return yield* new CommandFailed({ reason: `--url ${text} is no http or https URL.` })
  }
  if (url.pathname === "/") url.pathname = endpointPath
  return { url, apiKey: place?.apiKey }
})
