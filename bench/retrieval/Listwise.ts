/**
 * Weights of a ranking from lists of candidates: maximises the softmax share of what is evidence in each list, with a ridge
 * towards 0 (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", 2007), by Adagrad.
 */
export interface ListedQuestion {
  /** One row for each candidate. */
  readonly features: ReadonlyArray<ReadonlyArray<number>>
  /** At least one is. */
  readonly isEvidence: ReadonlyArray<boolean>
}

const rounds = 300
const stepSize = 0.5
const ridge = 1e-4

/** In the order of the features, scaled so that the first weight is 1. */
export const fitListwise = (questions: ReadonlyArray<ListedQuestion>): ReadonlyArray<number> => {
  const size = questions[0]?.features[0]?.length ?? 0
  const spreads = Array.from({ length: size }, (_, at) => spreadOf(questions, at))
  const lists = questions.map(({ features, isEvidence }) => ({
    rows: Float64Array.from(features.flatMap((row) => row.map((value, at) => value / spreads[at]!))),
    isEvidence
  }))
  const weights = new Float64Array(size)
  const squares = new Float64Array(size).fill(1e-8)
  for (let round = 0; round < rounds; round++) {
    const gradient = weights.map((weight) => -ridge * weight * questions.length)
    for (const { isEvidence, rows } of lists) addGradient(rows, isEvidence, weights, gradient)
    for (let at = 0; at < size; at++) {
      squares[at]! += gradient[at]! ** 2
      weights[at]! += (stepSize * gradient[at]!) / Math.sqrt(squares[at]!)
    }
  }
  return Array.from(weights, (weight, at) => (weight * spreads[0]!) / (spreads[at]! * weights[0]!))
}

/** Root mean square distance of a feature from its mean in each list, so that all weights move alike; 1 if it is constant. */
const spreadOf = (questions: ReadonlyArray<ListedQuestion>, at: number): number => {
  const squares = questions.map(({ features }) => {
    const mean = features.reduce((sum, row) => sum + row[at]!, 0) / features.length
    return features.reduce((sum, row) => sum + (row[at]! - mean) ** 2, 0) / features.length
  })
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length) || 1
}

/** What evidence has more of than all candidates together, each counted by its share. */
const addGradient = (
  rows: Float64Array,
  isEvidence: ReadonlyArray<boolean>,
  weights: Float64Array,
  gradient: Float64Array
): void => {
  const size = weights.length
  const scores = isEvidence.map((_, row) => {
    let score = 0
    for (let at = 0; at < size; at++) score += rows[row * size + at]! * weights[at]!
    return score
  })
  const highest = Math.max(...scores)
  const shares = scores.map((score) => Math.exp(score - highest))
  const total = shares.reduce((sum, share) => sum + share, 0)
  const told = shares.reduce((sum, share, row) => sum + (isEvidence[row] === true ? share : 0), 0)
  for (const [row, share] of shares.entries()) {
    const push = (isEvidence[row] === true ? share / told : 0) - share / total
    for (let at = 0; at < size; at++) gradient[at]! += push * rows[row * size + at]!
  }
}
