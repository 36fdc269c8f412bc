/**
 * A process that extracts without end until somebody kills it: for message n a memory, sometimes none, a
 * mark, a turn and a summary. After each reply it prints n. Its argument is the data directory.
 */
import { Effect, References } from "effect"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { engineOf, extracting, memoryRecord, namespaceKey } from "../support/EngineFixtures.ts"
import { sourceKeyOf, takesMemory } from "./ConversationMessages.ts"

/** Senders that run side by side, so that a kill meets groups. */
const sendersMax = 8

const [directory = "", first = "0"] = process.argv.slice(2)

const extract = (number: number) =>
  NamespaceHost.use((host) => {
    const source = { key: sourceKeyOf(number) }
    const memories = takesMemory(number) ? [memoryRecord(number, `from message ${number}`, { sources: [source] })] : []
    const turns = [{ ...source, role: "user" as const, content: `message ${number}` }]
    return host.ask(
      namespaceKey(),
      extracting([], memories, { processed: [source.key], turns, summary: `after ${number}` })
    )
  })

const run = (sender: number) =>
  Effect.gen(function* () {
    for (let number = Number(first) + sender; ; number += sendersMax) {
      yield* extract(number)
      process.stdout.write(`${number}\n`)
      yield* Effect.yieldNow
    }
  })

await Effect.runPromise(
  Effect.forEach(
    Array.from({ length: sendersMax }, (_, sender) => sender),
    run,
    { concurrency: "unbounded" }
  ).pipe(
    Effect.provide(engineOf(directory)),
    // Its output is numbers alone.
    Effect.provideService(References.MinimumLogLevel, "None")
  )
)
