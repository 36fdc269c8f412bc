/**
 * A graph that remembers across runs, without a language model: it says what it knows about what you say.
 *
 *     MUNIMENT_API_KEY=mun_... node remember.js "My sister plays the oboe"
 *     MUNIMENT_API_KEY=mun_... node remember.js "Which instrument does my sister play?"
 */
import process from "node:process"
import { Annotation, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph"
import { Muniment } from "@muniment/client"
import { MunimentStore } from "@muniment/langgraph"

const { MUNIMENT_API_KEY = "", MUNIMENT_URL = "http://127.0.0.1:8787" } = process.env
const store = new MunimentStore(new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY }))
const State = Annotation.Root({ said: Annotation<string>, known: Annotation<ReadonlyArray<string>> })

const recall = async ({ said }: typeof State.State, config: LangGraphRunnableConfig) => {
  const found = (await config.store?.search(["users", "me"], { query: said, limit: 3 })) ?? []
  return { known: found.map(({ value }) => String(value["text"])) }
}
const remember = async ({ said }: typeof State.State, config: LangGraphRunnableConfig) => {
  await config.store?.put(["users", "me"], crypto.randomUUID(), { text: said })
  return {}
}

const graph = new StateGraph(State)
  .addNode("recall", recall)
  .addNode("remember", remember)
  .addEdge(START, "recall")
  .addEdge("recall", "remember")
  .compile({ store })

const { known } = await graph.invoke({ said: process.argv.slice(2).join(" ") })
process.stdout.write(known.length === 0 ? "I know nothing about that.\n" : `${known.join("\n")}\n`)
