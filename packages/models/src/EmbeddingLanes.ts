/**
 * Texts waiting for the embedding thread, in three lanes. Queries overtake passages, which somebody waits for, and
 * these overtake the backlog. Passages are cut into small batches, so a query waits for at most the one batch under
 * way; those of the backlog are smaller still, since nobody waits for them. Pure: no clock, no effect, and the same
 * offers give the same batches.
 *
 * A wave is the oldest waiting passages of one lane and model, sorted by length (padding is wasted work) and completed
 * before the next wave is taken, so no passage starves behind shorter ones.
 */
import type { ModelId } from "./ModelCatalog.ts"

export interface PendingText {
  readonly modelId: ModelId
  readonly text: string
  /** Set when the caller was interrupted; the text is then dropped. */
  isCancelled: boolean
}

/** In the order of their right of way. */
export type EmbeddingLane = "query" | "passage" | "backlog"

export interface Batch<Item extends PendingText> {
  readonly lane: EmbeddingLane
  readonly modelId: ModelId
  readonly items: ReadonlyArray<Item>
}

export const queriesPerBatchMax = 4
/**
 * Bounds how long a query waits: 8 passages of a few words, 2 paragraphs or 1 longer text take 20 to 40 ms. A batch
 * saves messages, not arithmetic, so larger ones embed no faster (README, Decisions).
 */
export const passagesPerBatchMax = 8
/** Whoever comes waits for the one under way: 5 ms with short texts, where 8 of them took 20. */
export const backlogPerBatchMax = 2
export const charactersPerBatchMax = 512
/** Texts of a batch that a further thread takes from the backlog: larger, because no query waits for that thread. */
export const helpedPerBatchMax = 8
/** Texts that must wait for a further thread to take some: fewer, and the first thread ends before the further one. */
export const helpedFromTexts = 32
const passagesPerWaveMax = 256
/** After this many batches of lanes before it, a waiting batch of a lane runs: no lane starves. */
export const overtakingBatchesMax = { passage: 16, backlog: 4 } as const
export const pendingTextsMax = 8_192

export class EmbeddingLanes<Item extends PendingText> {
  #queries: Array<Item> = []
  readonly #passages = new PassageLane<Item>()
  readonly #backlog = new PassageLane<Item>()
  /** Batches in a row that overtook a waiting passage, and a waiting text of the backlog. */
  readonly #overtaken = { passage: 0, backlog: 0 }

  get queryCount(): number {
    return this.#queries.length
  }

  get passageCount(): number {
    return this.#passages.count
  }

  get backlogCount(): number {
    return this.#backlog.count
  }

  /** False, and nothing is taken, if the lanes would overflow. */
  offer(lane: EmbeddingLane, items: ReadonlyArray<Item>): boolean {
    if (this.queryCount + this.passageCount + this.backlogCount + items.length > pendingTextsMax) return false
    const target = { query: this.#queries, passage: this.#passages.waiting, backlog: this.#backlog.waiting }[lane]
    for (const item of items) target.push(item)
    return true
  }

  /** The batch to run now, or undefined when nothing waits. */
  next(): Batch<Item> | undefined {
    const overtaken = this.#overtaken
    const isBacklogDue = overtaken.backlog >= overtakingBatchesMax.backlog
    const isPassageDue = overtaken.passage >= overtakingBatchesMax.passage
    const batch =
      (isBacklogDue ? this.#nextOf("backlog") : undefined) ??
      (isPassageDue ? this.#nextOf("passage") : undefined) ??
      this.#nextQueries() ??
      this.#nextOf("passage") ??
      this.#nextOf("backlog")
    const isQuery = batch?.lane === "query"
    overtaken.passage = isQuery && this.passageCount > 0 ? overtaken.passage + 1 : 0
    overtaken.backlog = batch?.lane !== "backlog" && this.backlogCount > 0 ? overtaken.backlog + 1 : 0
    return batch
  }

  /** The model of the backlog's next batch, if at least `helpedFromTexts` wait, so that another thread may take some. */
  get modelToHelp(): ModelId | undefined {
    return this.backlogCount >= helpedFromTexts ? this.#backlog.nextModelId : undefined
  }

  /** A batch of the backlog for another thread. */
  nextForHelper(modelId: ModelId): Batch<Item> | undefined {
    return this.modelToHelp === modelId ? this.#nextOf("backlog", helpedPerBatchMax) : undefined
  }

  /** A batch that the other thread could not run goes before all others of the backlog. */
  putBack(batch: Batch<Item>): void {
    this.#backlog.waiting.unshift(...batch.items)
  }

  #nextQueries(): Batch<Item> | undefined {
    const [items, rest] = takeOfOneModel(this.#queries, queriesPerBatchMax)
    this.#queries = rest
    const [first] = items
    return first && { lane: "query", modelId: first.modelId, items }
  }

  #nextOf(
    lane: "passage" | "backlog",
    countMax = lane === "passage" ? passagesPerBatchMax : backlogPerBatchMax
  ): Batch<Item> | undefined {
    const items = (lane === "passage" ? this.#passages : this.#backlog).take(countMax)
    const [first] = items
    return first && { lane, modelId: first.modelId, items }
  }
}

/** One lane of passages: those that wait, oldest first, and what is left of the wave. */
class PassageLane<Item extends PendingText> {
  waiting: Array<Item> = []
  #wave: Array<Item> = []

  get count(): number {
    return this.waiting.length + this.#wave.length
  }

  get nextModelId(): ModelId | undefined {
    return (this.#wave[0] ?? this.waiting[0])?.modelId
  }

  /** The living texts of the next batch. */
  take(countMax: number): ReadonlyArray<Item> {
    this.#wave = this.#wave.filter((item) => !item.isCancelled)
    if (this.#wave.length === 0) {
      const [wave, rest] = takeOfOneModel(this.waiting, passagesPerWaveMax)
      this.#wave = wave.sort((left, right) => left.text.length - right.text.length)
      this.waiting = rest
    }
    let count = 0
    let characters = 0
    while (count < Math.min(this.#wave.length, countMax)) {
      characters += this.#wave[count]!.text.length
      if (count > 0 && characters > charactersPerBatchMax) break
      count++
    }
    return this.#wave.splice(0, count)
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
