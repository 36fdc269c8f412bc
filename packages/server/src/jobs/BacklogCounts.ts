/** Missing vectors by namespace, as last seen, with sums that cost nothing to read: `/metrics` asks for them. */
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"

export interface Counted {
  readonly key: NamespaceKey
  /** Memories without a vector of the configured model. */
  readonly missing: number
  readonly rows: number
  /** Models that have vectors here. */
  readonly models: ReadonlyArray<string>
}

export class BacklogCounts {
  readonly #counts = new Map<NamespaceTag, Counted>()
  readonly #lacking = new Map<NamespaceTag, NamespaceKey>()
  /** Number of namespaces by model. */
  readonly #models = new Map<string, number>()
  #missing = 0
  #rows = 0

  get missing(): number {
    return this.#missing
  }

  get rows(): number {
    return this.#rows
  }

  get models(): Iterable<string> {
    return this.#models.keys()
  }

  /** Namespaces in which something is missing. */
  get lacking(): ReadonlyArray<NamespaceKey> {
    return [...this.#lacking.values()]
  }

  get all(): Iterable<Counted> {
    return this.#counts.values()
  }

  get(tag: NamespaceTag): Counted | undefined {
    return this.#counts.get(tag)
  }

  set(counted: Counted): void {
    const { key, missing } = counted
    this.delete(key.tag)
    this.#counts.set(key.tag, counted)
    if (missing > 0) this.#lacking.set(key.tag, key)
    this.#sum(counted, 1)
  }

  delete(tag: NamespaceTag): void {
    const counted = this.#counts.get(tag)
    if (counted === undefined) return
    this.#counts.delete(tag)
    this.#lacking.delete(tag)
    this.#sum(counted, -1)
  }

  #sum({ missing, models, rows }: Counted, by: 1 | -1): void {
    this.#missing += by * missing
    this.#rows += by * rows
    for (const model of models) {
      const left = (this.#models.get(model) ?? 0) + by
      if (left > 0) this.#models.set(model, left)
      else this.#models.delete(model)
    }
  }
}
