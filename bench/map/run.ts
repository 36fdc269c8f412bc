/**
 * Quality and speed of memory maps. Quality: clusters against the labelled set, with words alone and
 * with every model named. Speed: 5,000 memories with vectors of 384 dimensions, through the service
 * and its worker, cold and warm; or end to end, over HTTP.
 */
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { denseText } from "@muniment/engine/text/MemoryText"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import type { MapMemory } from "@muniment/insight/map/MapProtocol"
import { mapLimits, MemoryMap } from "@muniment/insight/map/MemoryMap"
import { Effect } from "effect"
import { sentences } from "../../test/support/Sentences.ts"
import { vectorsOf } from "../kit/TextVectors.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { agreement } from "./Agreement.ts"
import { reportEndToEnd } from "./EndToEnd.ts"
import { methods } from "./Methods.ts"
import { balancedSet, mapMemories, retellings, unbalancedSet } from "./TopicSet.ts"

const dims = 384
const syntheticTopics = 40
/** Length of the noise against a topic's direction: cosines of about 0.3 within a topic. */
const noise = 1.5

const main = async (): Promise<void> => {
  answerHelp("node bench/map/run.ts [--models DIR] [--model ID]... [--rounds N] [--speed-only] [--end-to-end]")
  const { values } = parseArgs({
    options: {
      models: { type: "string", default: "models" },
      model: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: "7" },
      "speed-only": { type: "boolean", default: false },
      "end-to-end": { type: "boolean", default: false }
    }
  })
  const rounds = wholeNumber("rounds", values.rounds)
  if (values["end-to-end"]) return reportEndToEnd(values.models, rounds)
  if (!values["speed-only"]) {
    for (const modelId of [undefined, ...values.model]) await reportQuality(values.models, modelId)
  }
  await reportSpeed(rounds)
}

const reportQuality = async (modelsDir: string, modelId: string | undefined): Promise<void> => {
  console.log(`\n${modelId ?? "words only"}\n${"".padEnd(46)}purity   NMI clusters left out outliers found`)
  for (const [telling, retell] of Object.entries(retellings)) {
    for (const [size, set] of [["balanced", balancedSet] as const, ["unbalanced", unbalancedSet] as const]) {
      const retold = set.map(retell)
      const texts = retold.map(({ kind, data }) => denseText({ kind, data, tags: [] }))
      const vectors = modelId === undefined ? undefined : await vectorsOf(modelsDir, modelId, "passage", texts)
      const memories = mapMemories(retold, vectors)
      for (const [name, method] of Object.entries(methods)) {
        const score = agreement(
          method(memories),
          retold.map(({ topic }) => topic)
        )
        const figures = [
          score.purity.toFixed(3).padStart(6),
          score.nmi.toFixed(3),
          String(score.clusters).padStart(8),
          score.leftOut.toFixed(3).padStart(8),
          score.outliersFound.toFixed(2).padStart(14)
        ]
        console.log(`${`${telling}, ${size}: ${name}`.padEnd(46)}${figures.join(" ")}`)
      }
    }
  }
}

const reportSpeed = async (rounds: number): Promise<void> => {
  const embedded = syntheticMemories(mapLimits.memoriesMax)
  const plain = embedded.map((memory) => ({ ...memory, vector: undefined }))
  console.log(`\n${embedded.length} memories, ${rounds} rounds, milliseconds (load ${loadavg()[0]!.toFixed(2)})`)
  for (const [name, memories] of [["vectors", embedded] as const, ["words", plain] as const]) {
    const timed = await Effect.gen(function* () {
      const map = yield* MemoryMap
      const millis: Array<number> = []
      let clusters = 0
      for (let round = 0; round <= rounds; round++) {
        const started = performance.now()
        const drawn = yield* map.draw(memories)
        millis.push(performance.now() - started)
        clusters = drawn.clusters.length
      }
      return { millis, clusters }
    }).pipe(Effect.provide(MemoryMap.layerWith({ ...mapLimits, deadlineMillis: 60_000 })), Effect.runPromise)
    const [cold, ...warm] = timed.millis
    const sorted = warm.sort((left, right) => left - right)
    const figures = [cold!, sorted[sorted.length >> 1]!, sorted.at(-1)!].map((value) => value.toFixed(0))
    console.log(`${name}: first ${figures[0]}, median ${figures[1]}, worst ${figures[2]}; ${timed.clusters} clusters`)
  }
}

/** Vectors of topics plus noise, under real sentences: the text must be read and named as well. */
const syntheticMemories = (count: number): ReadonlyArray<MapMemory> => {
  const next = seededSequence(1)
  const direction = (): Float32Array => unit(Float32Array.from({ length: dims }, () => next() + next() + next() - 1.5))
  const topics = Array.from({ length: syntheticTopics }, direction)
  const memories = sentences(count).map((text, at) => ({
    kind: "factual_memory",
    data: { subject: `person ${at % 20}`, fact: text },
    topic: undefined
  }))
  return mapMemories(
    memories,
    memories.map((_, at) => {
      const own = direction()
      return unit(topics[at % syntheticTopics]!.map((value, dim) => value + noise * own[dim]!))
    })
  )
}

const unit = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

await main()
