/** The yardstick without any index: every float32 vector, in plain JavaScript. */
import { TopK } from "../TopK.ts"
import type { ContenderKind } from "../Contender.ts"
import { dotAt } from "../VectorSet.ts"

export const plainScan: ContenderKind = {
  name: "plain scan",
  countMax: 100_000,
  open: async ({ dims, capacity }) => {
    const rows = new Float32Array(capacity * dims)
    let count = 0
    const scan = (query: Float32Array, k: number, allows: (slot: number) => boolean) => {
      const top = new TopK(Math.min(k, count))
      for (let slot = 0; slot < count; slot++) if (allows(slot)) top.offer(slot, dotAt(rows, slot * dims, query))
      return top.drain().slots
    }
    return {
      knob: { name: "", values: [0] },
      add: (from, vectors) => {
        vectors.forEach((vector, at) => rows.set(vector, (from + at) * dims))
        count = Math.max(count, from + vectors.length)
      },
      settle: () => {},
      search: (query, k) => scan(query, k, () => true),
      filterKind: "bitmap",
      searchWhere: (query, k, _width, { allowed }) => scan(query, k, (slot) => allowed.has(slot)),
      replace: (slots, vectors) => slots.forEach((slot, at) => rows.set(vectors[at]!, slot * dims)),
      persist: undefined,
      close: () => {}
    }
  }
}
