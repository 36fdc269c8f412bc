/**
 * Constants of score and relevance, by what is ranked (messages of a conversation, other memories) and by what is known
 * of it (a cosine, or words alone). Formulas, and how far they can be trusted: README.md in this folder.
 *
 * A score is the sum of the terms times their weights; `slope * score + intercept` are log-odds, so that scores of
 * messages and of other memories, with a vector or without, are on one scale.
 */

/** Signs for a candidate, or against it, beside words and cosines: 0 or 1, `fits` also -1, `recent` in between. */
export const traitNames = ["states", "aside", "speaks", "fits", "recent", "inRange", "nearRange"] as const
export type TraitName = (typeof traitNames)[number]

/** Terms of the log-odds of being evidence, beside an intercept (`evidenceValues`). */
export type EvidenceName = WordName | MessageName | "cosine" | "standout" | "size"
type WordName = "score" | "words" | "coverage" | "bound" | "matched"
type MessageName = "self" | "states" | "onlyAsks" | "speaks" | "inRange"
export type EvidenceWeights = Readonly<Partial<Record<EvidenceName, number>>> & { readonly intercept: number }

export interface Calibration {
  readonly score: Readonly<Record<TraitName, number>> & {
    readonly cosine: number
    readonly around: number
    readonly slope: number
    readonly intercept: number
  }
  readonly evidence: EvidenceWeights
  /**
   * In place of `evidence` for the gate of answers, which was fitted with them; absent: the same. Of a long message never
   * more than what its score alone says.
   */
  readonly answerable?: EvidenceWeights
  /** In place of `evidence` where no visible memory has a word of the query; absent without a cosine. */
  readonly meaning?: {
    readonly cosine: number
    /** Weight of the standard deviations by which the cosine is above the mean of the best. */
    readonly standout: number
    readonly intercept: number
  }
}

/** Checked by `bench/retrieval/fit.ts`, whose fit on all sets is nearly the same. */
const messageScore = {
  states: 0.08,
  aside: -0.1,
  speaks: 0.15,
  fits: 0.067,
  recent: 0.3,
  inRange: 0.13,
  nearRange: 0.1
}
/** Half of a message's: more gained nothing on LoCoMo. */
const memoryScore = { states: 0, aside: 0, speaks: 0.15, fits: 0, recent: 0, around: 0, inRange: 0.07, nearRange: 0.05 }
/**
 * Log-odds by which a memory stands behind a message of the same worth: what was extracted says less than the message
 * it was taken from. Without it, extracted memories beside their messages cost .002 R@10.
 */
const besideMessages = 0.75

const message: Calibration = {
  score: { ...messageScore, cosine: 3.2, around: 1.35, slope: 4.72, intercept: -22.35 },
  evidence: {
    score: 2.19,
    coverage: 1.87,
    bound: 0.17,
    matched: 0.79,
    standout: 0.5,
    size: -0.38,
    self: 0.31,
    intercept: -11.76
  },
  answerable: {
    cosine: 21.1,
    coverage: 6.24,
    words: -1.32,
    bound: 0.56,
    matched: 1.21,
    states: 1.27,
    onlyAsks: -1.79,
    speaks: 0.31,
    inRange: 0.17,
    intercept: -25.3
  },
  meaning: { cosine: 14.75, standout: 0.91, intercept: -17.5 }
}

/**
 * Of a cosine that means nothing, as the model does not know the language: it only orders what has no words, and what has
 * equal ones. In Chinese with a model of English, the full weight halved what words find.
 */
const unknownMeaning = 0.1

const messageByWords: Calibration = {
  score: { ...messageScore, cosine: unknownMeaning, around: 0, slope: 6.84, intercept: -6.5 },
  evidence: {
    score: 2.02,
    coverage: 5.63,
    bound: 0.47,
    matched: 0.83,
    size: -0.49,
    self: 0.18,
    intercept: -4.48
  }
}

const memory: Calibration = {
  score: { ...memoryScore, cosine: 2, slope: 8.75, intercept: -19.52 - besideMessages },
  evidence: { cosine: 21.19, coverage: 7.02, words: -1.13, bound: 0.89, matched: 1.94, intercept: -26.5 },
  meaning: { cosine: 22.7, standout: 1.05, intercept: -24.29 }
}

const memoryByWords: Calibration = {
  score: { ...memoryScore, cosine: unknownMeaning, slope: 9.21, intercept: -4.92 - besideMessages },
  evidence: { coverage: 8.18, words: -1.47, bound: 0.95, matched: 3.11, intercept: -9.98 }
}

/** Numbers of memories that the constants were fitted on; beyond them, the nearer end counts. */
export const sizeRange = { least: 20, most: 700 } as const
/** Stands for a standout that is not known, as among fewer than ten memories. */
export const standoutUnknown = 1.5

export const calibrationOf = (isMessage: boolean, hasCosine: boolean): Calibration =>
  isMessage ? (hasCosine ? message : messageByWords) : hasCosine ? memory : memoryByWords

/** Reads the cosines of a model on the scale of e5-small-v2: `offset + factor * cosine`. */
export interface CosineScale {
  readonly factor: number
  readonly offset: number
}

/** Models differ in their range of cosines (MiniLM 0 to 0.7, e5 0.7 to 0.95), so each has its own row. */
const scales: Readonly<Record<string, CosineScale>> = {
  "e5-small-v2-q8": { factor: 1, offset: 0 },
  "all-minilm-l6-v2-q8": { factor: 0.159, offset: 0.737 },
  "all-minilm-l6-v2-w8": { factor: 0.158, offset: 0.737 },
  "bge-small-en-v15-q8": { factor: 0.321, offset: 0.609 }
}

/**
 * An unknown model gets a medium factor, and its cosines read as low ones: it ranks well and understates relevance, so
 * that an unmeasured model does not claim matches.
 */
const fallback: CosineScale = { factor: 0.332, offset: 0.531 }

export const cosineScaleOf = (modelId: string): CosineScale => scales[modelId] ?? fallback
