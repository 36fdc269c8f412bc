/** A free account's questions make the language model hang: the calls of others still reach it. */
import { createServer, type Server } from "node:http"
import { once } from "node:events"
import type { Goal } from "../../kit/Report.ts"
import { type Attack, countsOf, type Field } from "../Field.ts"
import { requestBytes, Wire } from "../Wire.ts"

const hanging = "tar pit"
const asking = "Ann moved to Porto"
const hangingCalls = 12
const askingCalls = 6
const callTimeoutMillis = 1_500

/** Of OpenAI's form; what names the tar pit is never answered. */
class TarPit {
  readonly #server: Server
  /** Calls of the victim. */
  asked = 0
  swallowed = 0

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        if (Buffer.concat(chunks).includes(hanging)) {
          this.swallowed += 1
          return
        }
        this.asked += 1
        response.setHeader("content-type", "application/json")
        const message = { role: "assistant", content: '{"memories":[]}' }
        response.end(JSON.stringify({ choices: [{ index: 0, finish_reason: "stop", message }], usage: {} }))
      })
    })
  }

  static async open(): Promise<TarPit> {
    const pit = new TarPit()
    pit.#server.listen(0, "127.0.0.1")
    await once(pit.#server, "listening")
    return pit
  }

  get url(): string {
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/v1`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

const conversations = async (
  { target }: Field,
  key: string,
  text: string,
  count: number
): Promise<ReadonlyArray<number>> => {
  const wire = new Wire(target, count)
  const replies = await Promise.all(
    Array.from({ length: count }, (_, at) => {
      const conversation = [{ role: "user", content: `${text}, number ${at}.` }]
      const body = JSON.stringify({
        agentId: `agent-${at}`,
        threadId: `thread-${at}`,
        conversation,
        wait: "extraction"
      })
      return wire.send(requestBytes(target, "POST", "/v1/memories", { key, body }))
    })
  )
  wire.close()
  return replies.map(({ status }) => status)
}

export const modelStall: Attack = {
  name: "model",
  title: `${hangingCalls} conversations that make the language model hang`,
  run: async ({ own }) => {
    if (own === undefined) return undefined
    const pit = await TarPit.open()
    const environment = {
      MUNIMENT_LLM_PROVIDER: "openai-compatible",
      MUNIMENT_LLM_BASE_URL: pit.url,
      MUNIMENT_LLM_MODEL: "tar-pit",
      MUNIMENT_LLM_ACCOUNTS: "all",
      MUNIMENT_LLM_TIMEOUT_MILLIS: String(callTimeoutMillis)
    }
    try {
      return await own.withAnother(environment, async (field) => {
        const hung = await conversations(field, field.attackerKey, hanging, hangingCalls)
        const swallowed = pit.swallowed
        const asked = await conversations(field, field.victimKey, asking, askingCalls)
        const goal: Goal = {
          name: "model stall: another account's calls that reached the model",
          bound: "at least",
          wanted: askingCalls,
          found: pit.asked,
          unit: ""
        }
        return { said: `${countsOf(hung)}, ${swallowed} calls hung; then ${countsOf(asked)}`, goals: [goal] }
      })
    } finally {
      pit.close()
    }
  }
}
