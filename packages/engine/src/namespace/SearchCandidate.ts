/**
 * A candidate of a search with its place: a memory, or one passage of a long message, of which several may be
 * candidates with the same id. Row fields are read late, since few candidates reach the ranking.
 */
import type { Candidate } from "../ranking/Fusion.ts"
import type { LexicalHit } from "../ranking/LexicalIndex.ts"
import type { MemoryRow, MessageRow } from "../store/MemoryRow.ts"
import type { Passage } from "@muniment/language/text/Passages"

export interface PlacedCandidate extends Candidate {
  readonly slot: number
  /** Slot of the passage, or of the memory. */
  readonly unit: number
  /** Part of the text of a message of several passages; undefined where the whole memory was found. */
  readonly passage: Passage | undefined
  /** Model of the vector behind `cosine`. */
  readonly modelId: string | undefined
  /** Tag of the namespace that holds the memory. */
  readonly namespace: string
}

/** A passage with its bits of `messageTraits`. */
export interface FoundPassage extends Passage {
  readonly traits: number
}

export class SearchCandidate implements PlacedCandidate {
  readonly lexicalScore: number
  readonly matchedTerms: number
  readonly cosine: number | undefined
  readonly modelId: string | undefined
  readonly unit: number
  readonly namespace: string
  readonly row: MemoryRow
  /** Greatest cosine of the query with the messages around it; undefined where none is known. */
  aroundCosine: number | undefined
  readonly #passage: FoundPassage | undefined

  constructor(
    unit: number,
    row: MemoryRow,
    passage: FoundPassage | undefined,
    { matchedTerms, score }: LexicalHit,
    cosine: number | undefined,
    modelId: string | undefined,
    namespace: string
  ) {
    this.lexicalScore = score
    this.matchedTerms = matchedTerms
    this.cosine = cosine
    this.modelId = modelId
    this.unit = unit
    this.namespace = namespace
    this.row = row
    this.#passage = passage
  }

  static withCosine(candidate: PlacedCandidate, cosine: number): PlacedCandidate {
    // A candidate of another node has fields instead of a row.
    if (!(candidate instanceof SearchCandidate)) return { ...candidate, cosine }
    const { lexicalScore: score, matchedTerms, modelId, namespace, row, unit } = candidate
    const hit = { score, matchedTerms }
    const again = new SearchCandidate(unit, row, candidate.#passage, hit, cosine, modelId, namespace)
    again.aroundCosine = candidate.aroundCosine
    return again
  }

  get id(): string {
    return this.row.id
  }

  get createdAt(): number {
    return this.row.createdAt
  }

  get slot(): number {
    return this.row.slot
  }

  get passage(): Passage | undefined {
    return this.#passage && { start: this.#passage.start, end: this.#passage.end }
  }

  /** Speaker and position of a message, and the traits of what was found of it; undefined for other kinds. */
  get message(): MessageRow | undefined {
    const { message } = this.row
    return message === undefined || this.#passage === undefined ? message : { ...message, traits: this.#passage.traits }
  }

  /** Subject of a fact, in lower case. */
  get about(): string | undefined {
    return this.row.about
  }

  /** Event time in milliseconds; of a message, when it was sent. */
  get eventAt(): number | undefined {
    return this.row.eventAt
  }
}
