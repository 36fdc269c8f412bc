/**
 * Language models that run on this machine: the usual ports are asked for their models, and what answers says what it is.
 * Another program on such a port lists none.
 */
import { Context, Effect } from "effect"
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import { type ServerListing, serverListing } from "@muniment/models/llm/ServerListing"
import { shownText } from "../ShownText.ts"

export interface LocalModelServer {
  readonly name: string
  readonly baseUrl: string
  /** At least one. */
  readonly models: ServerListing["models"]
}

/** Ports of Ollama, llama.cpp, LM Studio and vLLM. Tests have their own. */
export const LocalModelPorts = Context.Reference<ReadonlyArray<number>>("muniment/cli/LocalModelPorts", {
  defaultValue: () => [11_434, 8_080, 1_234, 8_000]
})

/** Time-out of one question; a server that is there answers in a few milliseconds. */
const probeMillisMax = 500

export const localModelServers = Effect.gen(function* () {
  const ports = yield* LocalModelPorts
  const found = yield* Effect.forEach(ports, serverAt, { concurrency: "unbounded" })
  return found.flatMap((server) => server ?? [])
}).pipe(Effect.provide(layerNodeHttp))

const serverAt = Effect.fnUntraced(function* (port: number) {
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const listing = yield* serverListing({ provider: "openai-compatible", baseUrl, apiKey: undefined }, probeMillisMax)
  if (listing === undefined || listing.models.length === 0) return undefined
  return { name: listing.product ?? "A model's server", baseUrl, models: listing.models } satisfies LocalModelServer
})

const shownModelsMax = 5

/** Lines that turn the model on. */
export const turningOn = (server: LocalModelServer): string => {
  const [model = "", ...others] = server.models
  const more = shownText(others.slice(0, shownModelsMax).join(", "))
  return [
    `${server.name} answers at ${server.baseUrl}${more === "" ? "" : ` (also ${more})`}. To let it read conversations, set, and start the service again:`,
    settingLine("MUNIMENT_LLM_PROVIDER", "openai-compatible"),
    settingLine("MUNIMENT_LLM_BASE_URL", server.baseUrl),
    settingLine("MUNIMENT_LLM_MODEL", model),
    `First see what it is worth: ${tryLine(server)}`
  ].join("\n")
}

export const tryLine = ({ baseUrl, models: [model = ""] }: LocalModelServer): string =>
  `npm run muniment -- models try --base-url ${baseUrl} --model ${shellWord(model)}`

/** Settings as lines that can be pasted into a shell. */
export const settingLine = (name: string, value: string): string => `export ${name}=${shellWord(value)}`

/** One word for a shell, whatever is in it. */
const shellWord = (text: string): string =>
  /^[\w.:/@+-]+$/.test(text) ? text : `'${shownText(text).replaceAll("'", `'\\''`)}'`
