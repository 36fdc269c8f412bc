/** A thread that does as it is told: echoes, waits, uses its processor, throws, exits, or fills its heap. */
import { getPriority } from "node:os"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"

export type Order =
  | { readonly do: "echo"; readonly value: unknown }
  | { readonly do: "spin"; readonly millis: number }
  | { readonly do: "burn" | "throw" | "exit" | "fill" | "settings" | "environment" | "priority" }

serve((order: Order): unknown => {
  switch (order.do) {
    case "echo":
      return order.value
    case "spin":
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.millis)
      return "done"
    case "burn":
      for (;;) Math.random()
    case "throw":
      throw new Error("thrown in the thread")
    case "exit":
      return process.exit(7)
    case "fill":
      for (const kept: Array<Array<number>> = []; ;) kept.push(Array.from({ length: 10_000 }, Math.random))
    case "settings":
      return settingsOf()
    case "environment":
      return Object.keys(process.env)
    case "priority":
      return getPriority()
  }
})
