/**
 * Time of one lexical search (both phases and the best 100) in a namespace of 10,000 memories with
 * queries of eight terms, cold (postings read from FTS5) and cached; and of writing. The words follow
 * Zipf's law, so that queries hold common terms. `node bench/retrieval/speed.ts`
 */
import { DatabaseSync } from "node:sqlite"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { weighQuery } from "@muniment/engine/ranking/Bm25"
import { SqlitePostings } from "@muniment/engine/store/sqlite/SqlitePostings"
import { LexicalIndex } from "@muniment/engine/ranking/LexicalIndex"
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"

const DOCUMENTS = 10_000
const WORDS_PER_DOCUMENT = 25
const VOCABULARY = 20_000
const QUERIES = 200
const QUERY_TERMS = 8
const ROUNDS = 5
const SEED = 7

const main = (): void => {
  const random = seededSequence(SEED)
  const word = (): string => `w${Math.floor(VOCABULARY ** random())}`
  const database = new DatabaseSync(":memory:")
  SqlitePostings.create(database)
  const postings = new SqlitePostings(database)
  const text = (): string => Array.from({ length: WORDS_PER_DOCUMENT }, word).join(" ")
  const memories = Array.from({ length: DOCUMENTS }, () => ({ kind: "note", data: { text: text() }, tags: [] }))
  const writing = millisOf(() => {
    database.exec("BEGIN")
    for (const [slot, memory] of memories.entries()) postings.put(slot, memoryColumns(memory))
    database.exec("COMMIT")
  })
  const queries = Array.from({ length: QUERIES }, () => [
    ...new Set(Array.from({ length: QUERY_TERMS }, () => `w${Math.floor(10 * (VOCABULARY / 10) ** random())}`))
  ])
  const allowed = Bitmap.of(memories.keys())
  const opened = performance.now()
  const index = new LexicalIndex(postings)
  console.log(
    `write ${((writing * 1_000) / DOCUMENTS).toFixed(1)} us a memory; open ${(performance.now() - opened).toFixed(1)} ms`
  )
  for (let round = 0; round < ROUNDS; round++) {
    const millis = queries.map((terms) =>
      millisOf(() => {
        const query = weighQuery(terms, index.statistics(terms, allowed))
        index.score(query, allowed).top(100, { timeOf: () => 0, before: (left, right) => right - left })
      })
    )
    millis.sort((left, right) => left - right)
    const at = (share: number): string => millis[Math.floor(share * (millis.length - 1))]!.toFixed(3)
    console.log(`round ${round + 1}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`)
  }
}

const millisOf = (work: () => void): number => {
  const start = performance.now()
  work()
  return performance.now() - start
}

main()
