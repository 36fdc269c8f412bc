/**
 * Feature vectors of memories without embeddings: tf-idf of their words, hashed with signs into a fixed number of
 * dimensions (K. Weinberger et al., "Feature hashing for large scale multitask learning", 2009).
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import type { MapNode } from "./MapNodes.ts"
import { makeMatrix, type Matrix, normaliseRows, rowOf } from "./Matrix.ts"

const hashedDims = 512
/** A word of a single memory says nothing about its neighbours. */
const memoriesPerWordMin = 2

/** Rows of length 1, or 0 for a memory that shares no word with another. */
export const wordFeatures = (nodes: ReadonlyArray<MapNode>): Matrix => {
  const wordsOf = nodes.map(({ subject, wordParts }) => {
    const tokens = tokenize([subject, ...wordParts].join(" "))
    return [...new Set(tokens)].filter((token) => !stopWords.has(token))
  })
  const memoriesOf = new Map<string, number>()
  for (const word of wordsOf.flat()) memoriesOf.set(word, (memoriesOf.get(word) ?? 0) + 1)

  const features = makeMatrix(nodes.length, hashedDims)
  for (const [row, words] of wordsOf.entries()) {
    const target = rowOf(features, row)
    for (const word of words) {
      const memories = memoriesOf.get(word) ?? 0
      if (memories < memoriesPerWordMin) continue
      const hash = hashOf(word)
      target[hash % hashedDims]! += (hash >>> 31 === 1 ? -1 : 1) * Math.log(1 + nodes.length / memories)
    }
  }
  normaliseRows(features)
  return features
}

/** FNV-1a with a final mix, 32 bits. */
const hashOf = (word: string): number => {
  let hash = 2_166_136_261
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 12)) >>> 0
}
