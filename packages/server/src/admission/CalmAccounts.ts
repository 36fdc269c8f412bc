/**
 * Which accounts ask only now and then: a leaky bucket for each. What a calm account asks is begun before the work of a
 * crowd (`Lane.ts`, `Turnstile.ts`); it is so little that the crowd hardly notices.
 */
import { Limits } from "@muniment/domain/Limits"
import { LRUCache } from "lru-cache"

/** Units of work that a calm account may ask for on average: this many a second, or this share of what is served. */
const calmPerSecond = 100
const calmShare = 0.25
/** In the bucket of a calm account, at most: what it may ask for in that time. */
const calmSeconds = 0.1
/** In any bucket: an account is calm again a tenth of a second after its crowd has ended. */
const secondsMax = 0.2

interface Bucket {
  readonly units: number
  readonly atMillis: number
}

export class CalmAccounts {
  readonly #buckets = new LRUCache<string, Bucket>({ max: Limits.rateLimitedCallersMax })

  /** Notes a request, and says whether its account is calm with it. `servedPerSecond`: units of its kind, under full load. */
  add(account: string, cost: number, nowMillis: number, servedPerSecond: number): boolean {
    const perSecond = Math.max(calmPerSecond, servedPerSecond * calmShare)
    const { atMillis, units } = this.#buckets.get(account) ?? { atMillis: nowMillis, units: 0 }
    const left = Math.max(0, units - ((nowMillis - atMillis) * perSecond) / 1_000) + cost
    this.#buckets.set(account, { atMillis: nowMillis, units: Math.min(perSecond * secondsMax, left) })
    return left <= perSecond * calmSeconds
  }
}
