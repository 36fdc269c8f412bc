/**
 * Profile of the event loop's thread by parts of the engine: V8's sampling profiler, each sample is counted for the
 * part of the engine that its innermost known frame belongs to.
 */
import { Session } from "node:inspector/promises"

export interface ProfileShare {
  readonly part: string
  /** 0 to 1, of the wall time of the profile. */
  readonly share: number
}

/** Function and file of a frame, `name File.ts`; the first rule that fits decides. */
const parts: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\(idle\)/, "idle, or waiting for the disk elsewhere"],
  [/^\(garbage collector\)/, "garbage collection"],
  [/^exec Database\.ts/, "SQLite: begin, commit, fsync"],
  [/^occurrences SqlitePostings|^#load LexicalIndex/, "search: postings from the file"],
  [/SqlitePostings\.ts/, "SQLite: full text"],
  [/^#putVector/, "SQLite: vectors"],
  [/^(?:#change|#apply|#eraseSourceTurns) /, "SQLite: rows"],
  [/^recordValues/, "SQLite: rows"],
  [/MemoryText\.ts|Tokenizer\.ts/, "plan: words of a text"],
  [/^(?:put|remove|#occupy|#vacate) LexicalIndex/, "image: words"],
  [/^#applyOne|^embed NamespaceVectors|^remove NamespaceVectors|^apply NamespaceState/, "image: rows and vectors"],
  [/(?:CommandPlanner|Draft|CanonicalJson)\.ts/, "plan: the rest"],
  [/^work /, "index: building"],
  [/(?:PlannedIndex|HnswIndex|HnswGraph|ExactIndex|QuantizedIndex|VectorArena)\.ts/, "search: meaning"],
  [/^records |memoryColumns\.ts/, "search: records"],
  [/(?:NamespaceReader|LexicalIndex|Fusion|TopSlots|Bm25|MemoryTable|MemorySearch)\.ts/, "search: words, fusion"],
  [/CommitThread\.ts/, "handing commits to their thread"]
]
const samplingMicros = 200

export const profileLoop = async <A>(
  work: () => Promise<A>
): Promise<{ readonly result: A; readonly shares: ReadonlyArray<ProfileShare> }> => {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.setSamplingInterval", { interval: samplingMicros })
  await session.post("Profiler.start")
  const result = await work()
  const { profile } = await session.post("Profiler.stop")
  session.disconnect()
  const parents = new Map(profile.nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id])))
  const names = new Map(
    profile.nodes.map(({ callFrame, id }) => [id, `${callFrame.functionName} ${callFrame.url.split("/").at(-1)}`])
  )
  const micros = new Map<string, number>()
  for (const [at, sample] of (profile.samples ?? []).entries()) {
    const part = partOf(sample, names, parents)
    micros.set(part, (micros.get(part) ?? 0) + (profile.timeDeltas?.[at] ?? 0))
  }
  const total = [...micros.values()].reduce((sum, some) => sum + some, 0)
  const shares = [...micros]
    .map(([part, some]) => ({ part, share: some / total }))
    .sort((left, right) => right.share - left.share)
  return { result, shares }
}

const partOf = (sample: number, names: ReadonlyMap<number, string>, parents: ReadonlyMap<number, number>): string => {
  for (let at: number | undefined = sample; at !== undefined; at = parents.get(at)) {
    const name = names.get(at) ?? ""
    const part = parts.find(([rule]) => rule.test(name))
    if (part !== undefined) return part[1]
  }
  return "the rest (Effect, timers, this bench)"
}
