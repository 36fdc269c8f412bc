/** Cosines of stored float32 vectors with the queries of their models, summed in float64. */
import type { QueryVectors } from "./NamespaceQuery.ts"
import type { StoredVector } from "../store/NamespaceStore.ts"

export interface ExactCosine {
  readonly cosine: number
  readonly model: string
}

/** By slot; leaves out vectors of models that the query has none of. */
export const exactCosines = (
  stored: ReadonlyArray<StoredVector>,
  queries: QueryVectors
): ReadonlyMap<number, ExactCosine> =>
  new Map(
    stored.flatMap(({ model, slot, values }) => {
      const query = queries.get(model)
      return query === undefined ? [] : [[slot, { cosine: innerProduct(query, values), model }]]
    })
  )

export const innerProduct = (left: Float32Array, right: Float32Array): number => {
  let sum = 0
  for (let i = 0; i < left.length; i++) sum += left[i]! * right[i]!
  return sum
}
