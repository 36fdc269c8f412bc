/** Logistic regression with a ridge on all weights but the first, by Newton's method. */

export interface Example {
  /** The first one is 1: its weight is the intercept. */
  readonly features: ReadonlyArray<number>
  readonly isPositive: boolean
  /** Default 1. */
  readonly weight?: number | undefined
}

const iterations = 25
const ridge = 0.5

/** Weights in the order of the features. */
export const fitLogistic = (examples: ReadonlyArray<Example>): ReadonlyArray<number> => {
  const size = examples[0]?.features.length ?? 0
  let weights = new Array<number>(size).fill(0)
  for (let iteration = 0; iteration < iterations; iteration++) {
    const gradient = weights.map((weight, at) => (at === 0 ? 0 : -ridge * weight))
    const curvature = weights.map((_, row) =>
      weights.map((__, column) => (row === column ? (row === 0 ? 1e-6 : ridge) : 0))
    )
    for (const { features, isPositive, weight = 1 } of examples) {
      const chance = probability(weights, features)
      const error = weight * ((isPositive ? 1 : 0) - chance)
      const spread = weight * chance * (1 - chance)
      for (let row = 0; row < size; row++) {
        gradient[row]! += error * features[row]!
        for (let column = 0; column < size; column++)
          curvature[row]![column]! += spread * features[row]! * features[column]!
      }
    }
    const step = solve(curvature, gradient)
    weights = weights.map((weight, at) => weight + step[at]!)
  }
  return weights
}

export const probability = (weights: ReadonlyArray<number>, features: ReadonlyArray<number>): number =>
  1 / (1 + Math.exp(-weights.reduce((sum, weight, at) => sum + weight * features[at]!, 0)))

/** Gauss-Jordan elimination with partial pivoting; the matrix is small and positive definite. */
const solve = (matrix: ReadonlyArray<ReadonlyArray<number>>, right: ReadonlyArray<number>): ReadonlyArray<number> => {
  const rows = matrix.map((row, at) => [...row, right[at]!])
  for (let pivot = 0; pivot < rows.length; pivot++) {
    let best = pivot
    for (let row = pivot; row < rows.length; row++)
      if (Math.abs(rows[row]![pivot]!) > Math.abs(rows[best]![pivot]!)) best = row
    const chosen = rows[best]!
    rows[best] = rows[pivot]!
    rows[pivot] = chosen
    for (const [at, row] of rows.entries()) {
      if (at === pivot) continue
      const factor = row[pivot]! / chosen[pivot]!
      for (let column = pivot; column <= rows.length; column++) row[column]! -= factor * chosen[column]!
    }
  }
  return rows.map((row, at) => row[rows.length]! / row[at]!)
}
