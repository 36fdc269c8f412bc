/**
 * The labelled memories of `test/vectors/topics`, in the variants of the bench: with
 * topics of one size or of many; about many people or about one; and with a kind, or a subject, for
 * each topic, where taking away what a kind or a subject has in common would take the topic away.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import type { JsonObject } from "@muniment/domain/Memory"
import type { MapMemory } from "@muniment/insight/map/MapProtocol"

export interface LabelledMemory {
  readonly kind: string
  readonly data: JsonObject
  /** Undefined: an outlier, which belongs to no topic. */
  readonly topic: string | undefined
}

interface TopicFile {
  readonly topics: ReadonlyArray<{ readonly name: string; readonly memories: ReadonlyArray<LabelledMemory> }>
  readonly outliers: ReadonlyArray<LabelledMemory>
}

interface CountsFile {
  readonly counts: Readonly<Record<string, number>>
  readonly outliers: number
}

const read = (name: string): string =>
  readFileSync(new URL(`../../test/vectors/topics/${name}.json`, import.meta.url), "utf8")

const { topics, outliers }: TopicFile = JSON.parse(read("labelled"))
const unbalanced: CountsFile = JSON.parse(read("unbalanced"))

const take = (sizeOf: (topic: string) => number, outliersMax: number): ReadonlyArray<LabelledMemory> => [
  ...topics.flatMap(({ name, memories }) =>
    memories.slice(0, sizeOf(name)).map((memory) => ({ ...memory, topic: name }))
  ),
  ...outliers.slice(0, outliersMax).map((memory) => ({ ...memory, topic: undefined }))
]

export const balancedSet = take(() => Number.POSITIVE_INFINITY, outliers.length)
export const unbalancedSet = take((topic) => unbalanced.counts[topic] ?? 0, unbalanced.outliers)

type Retelling = (memory: LabelledMemory) => LabelledMemory

const about = (memory: LabelledMemory, subject: string): LabelledMemory =>
  memory.data["subject"] === undefined ? memory : { ...memory, data: { ...memory.data, subject } }

export const retellings: Readonly<Record<string, Retelling>> = {
  "22 people": (memory) => memory,
  "one person": (memory) => about(memory, "user"),
  "kind = topic": (memory) => ({ ...about(memory, "user"), kind: `${memory.topic ?? "misc"}_note` }),
  "subject = topic": (memory) => ({
    ...memory,
    data: { ...memory.data, subject: memory.topic === undefined ? "Someone" : `Project ${memory.topic}` }
  })
}

/** Ids are the places in the list. */
export const mapMemories = (
  memories: ReadonlyArray<LabelledMemory>,
  vectors: ReadonlyArray<Float32Array> | undefined
): ReadonlyArray<MapMemory> =>
  memories.map(({ kind, data }, at) => ({
    id: String(at),
    kind,
    data,
    contentHash: `0x${createHash("sha256").update(JSON.stringify({ kind, data })).digest("hex")}`,
    vector: vectors?.[at]
  }))
