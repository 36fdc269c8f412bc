/**
 * A process that inserts, repeats and removes memories of several agents over the commit log until somebody kills it.
 * Its arguments are the data directory and the number of the first memory. It prints a line for each answer:
 * `+agent:number` when the memory is stored, `?agent:number` before and `-agent:number` after it is removed. With
 * `states` as third argument `=agent state` comes first for each agent, the state as JSON.
 */
import { writeSync } from "node:fs"
import { Effect, Layer } from "effect"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { logFirstStore } from "@muniment/engine/store/logged/LogFirstStore"
import { axisVector, creating, exactOnly, memoryRecord, namespaceKey, newMemory } from "../support/EngineFixtures.ts"
import { logAgents } from "./LogAgents.ts"
import { stateOf } from "./LogStates.ts"

const [directory = "", first = "0", states] = process.argv.slice(2)
const writersPerAgent = 2
/** Every so many memories the one before is removed. */
const removedEach = 3

const say = (line: string) => writeSync(1, `${line}\n`)

const engine = NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }).pipe(
  Layer.provideMerge(logFirstStore(directory)),
  // Small segments, so that a run passes through many.
  Layer.provide(fileLogLayer({ directory: `${directory}/${logFolder}`, segmentBytes: 262_144 }))
)

const write = (agent: string, writer: number) =>
  Effect.gen(function* () {
    const host = yield* NamespaceHost
    const key = namespaceKey(agent)
    for (let number = Number(first) + writer; ; number += writersPerAgent) {
      const memory = newMemory(memoryRecord(number, `narwhal ${number}`, { agentId: agent }), axisVector(number))
      yield* host.ask(key, creating([memory], `key ${number}`))
      say(`+${agent}:${number}`)
      const gone = number - writersPerAgent
      if (number % removedEach === 0 && gone >= Number(first)) {
        say(`?${agent}:${gone}`)
        yield* host.ask(key, { _tag: "RemoveMemories", ids: [memoryRecord(gone, "").id], idempotency: undefined })
        say(`-${agent}:${gone}`)
      }
    }
  })

const sayStates = Effect.forEach(logAgents, (agent) =>
  Effect.map(stateOf(agent), (state) => say(`=${agent} ${JSON.stringify(state)}`))
)
const writers = logAgents.flatMap((agent) => Array.from({ length: writersPerAgent }, (_, at) => write(agent, at)))
const run = Effect.andThen(
  states === "states" ? sayStates : Effect.void,
  Effect.all(writers, { concurrency: "unbounded" })
)
await Effect.runPromise(Effect.provide(run, engine))
