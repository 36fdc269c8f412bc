/**
 * Constants that turn a lexical score and a cosine into one relevance. Fitted by `bench/retrieval/calibrate.ts` on
 * LoCoMo (figures: README.md in this folder).
 *
 *     relevance = 1 / (1 + exp(-(intercept + slope * (lexical + cosineWeight * cosine))))
 *
 * lexical = BM25F divided by its bound for the query, 0..1. Intercept and slope fit the probability that a memory
 * with this sum answers the query, against the best hit of a query whose answer was never stored, at prior odds of
 * 35 to 65: at 0.35 both are equally likely, above it the memory "probably matches".
 */

export interface FusedCalibration {
  readonly cosineWeight: number
  readonly slope: number
  readonly intercept: number
}

/** For searches without a model, and for memories that have no vector yet. */
export const lexicalCalibration: FusedCalibration = { cosineWeight: 0, slope: 9.33, intercept: -3.14 }

/** Models differ in their range of cosines (MiniLM 0 to 0.7, e5 0.7 to 0.95), so each has its own row. */
const byModel: Readonly<Record<string, FusedCalibration>> = {
  "all-minilm-l6-v2-q8": { cosineWeight: 0.3, slope: 8.9, intercept: -4.19 },
  "all-minilm-l6-v2-w8": { cosineWeight: 0.3, slope: 8.88, intercept: -4.19 },
  "e5-small-v2-q8": { cosineWeight: 2, slope: 8.41, intercept: -16.59 },
  "bge-small-en-v15-q8": { cosineWeight: 0.6, slope: 9, intercept: -6.34 }
}

/**
 * An unknown model gets a medium weight and e5's high cosines as background: it ranks well and understates
 * relevance, so that an unmeasured model does not claim matches.
 */
const fallback: FusedCalibration = { cosineWeight: 0.6, slope: 9.32, intercept: -7.66 }

export const calibrationOf = (modelId: string): FusedCalibration => byModel[modelId] ?? fallback
