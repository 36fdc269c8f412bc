/** A process with nothing but one request to a thread: prints how the request ended. Its argument is the order. */
import { Effect } from "effect"
import { openWorkerThread } from "@muniment/worker/WorkerThread"
import type { Order } from "./echoEntry.ts"

const [order = "exit"] = process.argv.slice(2)

const asked = Effect.gen(function* () {
  const thread = yield* openWorkerThread<Order, unknown>({
    name: "test",
    entry: new URL("./echoEntry.ts", import.meta.url),
    concurrency: 1,
    queueMax: 1,
    heapMegabytesMax: 32
  })
  return yield* thread.ask({ do: order as "exit" | "fill" }).pipe(
    Effect.as("answered"),
    Effect.catch(({ reason }) => Effect.succeed(reason))
  )
})

process.stdout.write(await Effect.runPromise(Effect.scoped(asked)))
