/**
 * Which accounts ask only now and then: a leaky bucket for each. What a calm account asks is begun before the work of a
 * crowd (`Lane.ts`, `Turnstile.ts`); it is so little that the crowd hardly notices.
 */
import { Limits } from "@muniment/domain/Limits"
import { LRUCache } from "lru-cache"

/** Units of work that an account may ask for, in the long run. */
const calmPerSecond = 100
/** In the bucket of a calm account, at most. */
const calmUnits = 10
/** In any bucket: an account is calm again a tenth of a second after its crowd has ended. */
const unitsMax = 20

interface Bucket {
  readonly units: number
  readonly atMillis: number
}

export class CalmAccounts {
  readonly #buckets = new LRUCache<string, Bucket>({ max: Limits.rateLimitedCallersMax })

  /** Notes a request, and says whether its account is calm with it. */
  add(account: string, cost: number, nowMillis: number): boolean {
    const { atMillis, units } = this.#buckets.get(account) ?? { atMillis: nowMillis, units: 0 }
    const left = Math.max(0, units - ((nowMillis - atMillis) * calmPerSecond) / 1_000) + cost
    this.#buckets.set(account, { atMillis: nowMillis, units: Math.min(unitsMax, left) })
    return left <= calmUnits
  }
}
