/**
 * Texts waiting for the embedding thread, in two lanes. Queries overtake passages; passages are cut into small
 * batches, so a query waits for at most the one batch under way. Pure: no clock, no effect, and the same offers give
 * the same batches.
 *
 * A wave is the oldest waiting passages of one model, sorted by length (padding is wasted work) and completed before
 * the next wave is taken, so no passage starves behind shorter ones.
 */
import type { ModelId } from "./ModelCatalog.ts"

export interface PendingText {
  readonly modelId: ModelId
  readonly text: string
  /** Set when the caller was interrupted; the text is then dropped. */
  isCancelled: boolean
}

export interface Batch<Item extends PendingText> {
  readonly lane: "query" | "passage"
  readonly modelId: ModelId
  readonly items: ReadonlyArray<Item>
}

export const queriesPerBatchMax = 4
/**
 * Bounds how long a query waits: 8 passages of a few words, 2 paragraphs or 1 longer text take 20 to 40 ms. A batch
 * saves messages, not arithmetic, so larger ones embed no faster (README, Decisions).
 */
export const passagesPerBatchMax = 8
export const charactersPerBatchMax = 512
export const passagesPerWaveMax = 256
/** After this many query batches in a row a waiting passage batch runs, so that writes complete too. */
export const queryBatchesInRowMax = 16
export const pendingTextsMax = 8_192

export class EmbeddingLanes<Item extends PendingText> {
  #queries: Array<Item> = []
  #passages: Array<Item> = []
  #wave: Array<Item> = []
  #queryBatchesInRow = 0

  get queryCount(): number {
    return this.#queries.length
  }

  get passageCount(): number {
    return this.#passages.length + this.#wave.length
  }

  /** False, and nothing is taken, if the lanes would overflow. */
  offer(lane: "query" | "passage", items: ReadonlyArray<Item>): boolean {
    if (this.queryCount + this.passageCount + items.length > pendingTextsMax) return false
    const target = lane === "query" ? this.#queries : this.#passages
    for (const item of items) target.push(item)
    return true
  }

  /** The batch to run now, or undefined when nothing waits. */
  next(): Batch<Item> | undefined {
    const areQueriesDue = this.passageCount === 0 || this.#queryBatchesInRow < queryBatchesInRowMax
    const batch = areQueriesDue
      ? (this.#nextQueries() ?? this.#nextPassages())
      : (this.#nextPassages() ?? this.#nextQueries())
    this.#queryBatchesInRow = batch?.lane === "query" ? this.#queryBatchesInRow + 1 : 0
    return batch
  }

  #nextQueries(): Batch<Item> | undefined {
    const [items, rest] = takeOfOneModel(this.#queries, queriesPerBatchMax)
    this.#queries = rest
    const [first] = items
    return first && { lane: "query", modelId: first.modelId, items }
  }

  #nextPassages(): Batch<Item> | undefined {
    this.#wave = this.#wave.filter((item) => !item.isCancelled)
    if (this.#wave.length === 0) {
      const [wave, rest] = takeOfOneModel(this.#passages, passagesPerWaveMax)
      this.#wave = wave.sort((left, right) => left.text.length - right.text.length)
      this.#passages = rest
    }
    let count = 0
    let characters = 0
    while (count < Math.min(this.#wave.length, passagesPerBatchMax)) {
      characters += this.#wave[count]!.text.length
      if (count > 0 && characters > charactersPerBatchMax) break
      count++
    }
    const items = this.#wave.splice(0, count)
    const [first] = items
    return first && { lane: "passage", modelId: first.modelId, items }
  }
}

/** Up to `countMax` living items of the oldest one's model, and the living items left over. */
const takeOfOneModel = <Item extends PendingText>(
  items: ReadonlyArray<Item>,
  countMax: number
): [Array<Item>, Array<Item>] => {
  const taken: Array<Item> = []
  const rest: Array<Item> = []
  for (const item of items) {
    if (item.isCancelled) continue
    const isSameModel = taken.length === 0 || item.modelId === taken[0]!.modelId
    if (isSameModel && taken.length < countMax) taken.push(item)
    else rest.push(item)
  }
  return [taken, rest]
}
