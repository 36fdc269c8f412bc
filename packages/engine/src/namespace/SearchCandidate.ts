/** A candidate of a search with its place. Row fields are read late, since few candidates reach the ranking. */
import type { Candidate } from "../ranking/Fusion.ts"
import type { LexicalHit } from "../ranking/LexicalIndex.ts"
import type { MemoryRow, MessageRow } from "../store/MemoryRow.ts"

export interface PlacedCandidate extends Candidate {
  readonly slot: number
  /** Model of the vector behind `cosine`. */
  readonly modelId: string | undefined
  /** Tag of the namespace that holds the memory. */
  readonly namespace: string
}

export class SearchCandidate implements PlacedCandidate {
  readonly lexicalScore: number
  readonly matchedTerms: number
  readonly cosine: number | undefined
  readonly modelId: string | undefined
  readonly slot: number
  readonly namespace: string
  readonly row: MemoryRow

  constructor(
    slot: number,
    row: MemoryRow,
    { matchedTerms, score }: LexicalHit,
    cosine: number | undefined,
    modelId: string | undefined,
    namespace: string
  ) {
    this.lexicalScore = score
    this.matchedTerms = matchedTerms
    this.cosine = cosine
    this.modelId = modelId
    this.slot = slot
    this.namespace = namespace
    this.row = row
  }

  get id(): string {
    return this.row.id
  }

  get createdAt(): number {
    return this.row.createdAt
  }

  /** Speaker, traits and position of a message; undefined for memories of other kinds. */
  get message(): MessageRow | undefined {
    return this.row.message
  }

  /** Event time in milliseconds; of a message, when it was sent. */
  get eventAt(): number | undefined {
    return this.row.eventAt
  }
}
