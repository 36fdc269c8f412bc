/**
 * One corpus behind the service's own lexical index (a real FTS5 table in memory) and vector codes,
 * asked question by question. A slot is the index of a memory; later turns count as newer.
 */
import { DatabaseSync } from "node:sqlite"
import { Limits } from "@muniment/domain/Limits"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { weighQuery } from "@muniment/engine/ranking/Bm25"
import { SqlitePostings } from "@muniment/engine/store/sqlite/SqlitePostings"
import type { ScoredQuery } from "@muniment/engine/ranking/Evidence"
import type { Candidate } from "@muniment/engine/ranking/Fusion"
import { LexicalIndex } from "@muniment/engine/ranking/LexicalIndex"
import { namedSpeaker, questionTraits } from "@muniment/language/question/QuestionTraits"
import { memoryColumns, messageOf, traitsOf } from "@muniment/engine/text/MemoryText"
import { searchTerms } from "@muniment/language/text/Tokenizer"
import type { Corpus } from "./Locomo.ts"

export interface SlotCandidate extends Candidate {
  readonly slot: number
}

/** Every memory of the corpus scored for one question. */
export interface Scored {
  readonly candidates: ReadonlyArray<SlotCandidate>
  readonly query: ScoredQuery
}

export interface QueryVector {
  readonly modelId: string
  readonly vector: Float32Array
  /** Vectors of the corpus's memories, by slot. */
  readonly passages: ReadonlyArray<Float32Array>
}

export interface OpenCorpus {
  readonly corpus: Corpus
  readonly ask: (question: string, dense: QueryVector | undefined) => Scored
}

const dayMillis = 86_400_000

export const openCorpus = (corpus: Corpus): OpenCorpus => {
  const messages = corpus.memories.map(({ data, kind }) => messageOf({ kind, data }))
  const rows = messages.map((message) =>
    message === undefined ? undefined : { speaker: message.speaker, traits: traitsOf(message.text, message.isByUser) }
  )
  const speakers = new Set(rows.flatMap((row) => (row === undefined ? [] : [row.speaker])))
  const times = corpus.memories.map(({ when }) => (when === undefined ? undefined : Date.parse(when)))
  // Questions are asked the day after the last turn.
  const nowMillis = times.reduce((latest: number, time) => Math.max(latest, time ?? 0), 0) + dayMillis
  const database = new DatabaseSync(":memory:")
  SqlitePostings.create(database)
  const postings = new SqlitePostings(database)
  database.exec("BEGIN")
  for (const [slot, memory] of corpus.memories.entries()) postings.put(slot, memoryColumns(memory))
  database.exec("COMMIT")
  const index = new LexicalIndex(postings, {
    messages: { isMessage: (slot) => rows[slot] !== undefined, around: () => [] }
  })
  const allowed = Bitmap.of(corpus.memories.keys())
  const ask = (question: string, dense: QueryVector | undefined): Scored => {
    const terms = searchTerms(question)
    const weighted = weighQuery(terms, index.statistics(terms, allowed))
    const scores = index.score(weighted, allowed)
    const cosines = cosinesOf(dense)
    const candidates = corpus.memories.map((_, slot): SlotCandidate => {
      const { score, matchedTerms } = scores.of(slot)
      const cosine = cosines?.[slot]
      const id = String(slot).padStart(6, "0")
      const near = rows[slot] === undefined || cosines === undefined ? [] : nearOf(slot, cosines)
      const aroundCosine = near.length === 0 ? undefined : Math.max(...near)
      const row = { message: rows[slot], eventAt: times[slot], aroundCosine }
      return { slot, id, createdAt: slot, lexicalScore: score, matchedTerms, cosine, ...row }
    })
    const traits = questionTraits(question, { nowMillis })
    const asked = { ...traits, speaker: namedSpeaker(traits, speakers) }
    return {
      candidates,
      query: {
        scoreBound: weighted.scoreBound,
        termCount: terms.length,
        modelId: dense?.modelId,
        documents: corpus.memories.length,
        asked
      }
    }
  }
  return { corpus, ask }
}

/** Of the messages around one: a corpus is one conversation. */
const nearOf = (slot: number, cosines: Float32Array): ReadonlyArray<number> => {
  const eachSide = Limits.neighbourMessagesEachSide
  return [...cosines.subarray(Math.max(0, slot - eachSide), slot), ...cosines.subarray(slot + 1, slot + 1 + eachSide)]
}

const slabs = new SlabPool(loadKernels())
/** The service's own int8 codes, by the vectors they were made from. */
const arenas = new WeakMap<ReadonlyArray<Float32Array>, VectorArena>()

const arenaOf = (passages: ReadonlyArray<Float32Array>): VectorArena => {
  const known = arenas.get(passages)
  if (known !== undefined) return known
  const arena = new VectorArena(passages[0]?.length ?? 0, slabs.take())
  for (const [slot, vector] of passages.entries()) arena.set(slot, vector, 0)
  arenas.set(passages, arena)
  return arena
}

/** By slot, as every engine of the service scores them; undefined for a search by words. */
const cosinesOf = (dense: QueryVector | undefined): Float32Array | undefined => {
  if (dense === undefined) return undefined
  const arena = arenaOf(dense.passages)
  return arena.scores(arena.prepare(dense.vector), [...dense.passages.keys()])
}
