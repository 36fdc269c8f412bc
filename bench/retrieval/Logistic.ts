/** Logistic regression of one feature by Newton's method, with weighted examples. */

export interface Example {
  readonly value: number
  readonly isPositive: boolean
  readonly weight: number
}

export interface Logistic {
  readonly slope: number
  readonly intercept: number
}

const ITERATIONS = 50

export const fitLogistic = (examples: ReadonlyArray<Example>): Logistic => {
  let slope = 0
  let intercept = 0
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    let gradient0 = 0
    let gradient1 = 0
    let curvature00 = 0
    let curvature01 = 0
    let curvature11 = 0
    for (const { value, isPositive, weight } of examples) {
      const chance = probability({ slope, intercept }, value)
      const error = weight * ((isPositive ? 1 : 0) - chance)
      const spread = weight * chance * (1 - chance)
      gradient0 += error
      gradient1 += error * value
      curvature00 += spread
      curvature01 += spread * value
      curvature11 += spread * value * value
    }
    const determinant = curvature00 * curvature11 - curvature01 * curvature01
    intercept += (curvature11 * gradient0 - curvature01 * gradient1) / determinant
    slope += (curvature00 * gradient1 - curvature01 * gradient0) / determinant
  }
  return { slope, intercept }
}

export const probability = ({ slope, intercept }: Logistic, value: number): number =>
  1 / (1 + Math.exp(-(intercept + slope * value)))
