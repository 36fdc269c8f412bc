/**
 * Standing of schemas and of their authors, as the validator has learned it. A schema is proven once it was compiled
 * and run within `provenMillisMax`; proven ones do not wait behind unknown ones. One that overran its time is not tried
 * again for its tenant for a while, which doubles with each time, and neither is any unknown schema of a tenant with
 * several of them.
 *
 * Invariant: a schema proven by one tenant is proven for all, and what one tenant's data overran changes nothing for
 * others.
 */
import { createHash } from "node:crypto"
import { LRUCache } from "lru-cache"
import { builtinTexts } from "./BuiltinKinds.ts"

export const standingLimits = {
  /** Processor time of the whole request. */
  provenMillisMax: 50,
  /** Largest data of one item as JSON: the time of a check may grow with the square of it. */
  provenDataBytesMax: 8_192,
  quarantineMillis: 60_000,
  quarantineMillisMax: 3_600_000,
  /** Overruns of a tenant, remembered for `quarantineMillisMax`, from which on its unknown schemas wait too. */
  overrunsMax: 3,
  entriesMax: 4_096
} as const

interface Quarantine {
  readonly times: number
  readonly untilMillis: number
}

export class SchemaStanding {
  readonly #proven = new LRUCache<string, true>({ max: standingLimits.entriesMax })
  /** Proven schemas that overran since, for the tenant whose data did. */
  readonly #lost = new LRUCache<string, true>({ max: standingLimits.entriesMax })
  readonly #quarantines = new LRUCache<string, Quarantine>({ max: standingLimits.entriesMax })

  /** May be checked for the tenant beside the work of others. */
  isSafe(tenant: string, schemaText: string, dataBytes: number): boolean {
    if (builtinTexts.has(schemaText)) return true
    return dataBytes <= standingLimits.provenDataBytesMax && this.#isProven(tenant, digestOf(schemaText))
  }

  /** Milliseconds until one of the schemas may be tried again; 0: now. */
  waitMillis(tenant: string, schemaTexts: ReadonlyArray<string>, nowMillis: number): number {
    const own = schemaTexts.filter((text) => !builtinTexts.has(text)).map(digestOf)
    const ofTenant = this.#quarantines.get(tenant)
    const isNoted = ofTenant !== undefined && ofTenant.times >= standingLimits.overrunsMax
    const waits = own.map((digest) => {
      const wait = this.#left(keyOf(tenant, digest), nowMillis)
      return isNoted && !this.#isProven(tenant, digest) ? Math.max(wait, this.#left(tenant, nowMillis)) : wait
    })
    return Math.max(0, ...waits)
  }

  succeeded(tenant: string, schemaTexts: ReadonlyArray<string>, cpuMillis: number): void {
    if (cpuMillis > standingLimits.provenMillisMax) return
    for (const text of schemaTexts) {
      if (builtinTexts.has(text)) continue
      const digest = digestOf(text)
      this.#proven.set(digest, true)
      this.#lost.delete(keyOf(tenant, digest))
    }
  }

  overran(tenant: string, schemaTexts: ReadonlyArray<string>, nowMillis: number): void {
    this.#punish(tenant, nowMillis)
    for (const text of schemaTexts) {
      if (builtinTexts.has(text)) continue
      const key = keyOf(tenant, digestOf(text))
      this.#lost.set(key, true)
      this.#punish(key, nowMillis)
    }
  }

  #isProven(tenant: string, digest: string): boolean {
    return this.#proven.get(digest) === true && !this.#lost.has(keyOf(tenant, digest))
  }

  #left(key: string, nowMillis: number): number {
    const { untilMillis } = this.#quarantines.get(key) ?? { untilMillis: 0 }
    return Math.max(0, untilMillis - nowMillis)
  }

  #punish(key: string, nowMillis: number): void {
    const before = this.#quarantines.get(key)
    const { quarantineMillis, quarantineMillisMax } = standingLimits
    const isRemembered = before !== undefined && nowMillis < before.untilMillis + quarantineMillisMax
    const times = isRemembered ? before.times + 1 : 1
    const millis = Math.min(quarantineMillisMax, quarantineMillis * 2 ** (times - 1))
    this.#quarantines.set(key, { times, untilMillis: nowMillis + millis })
  }
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64")

/** A digest is longer than nothing, so this never equals the key of a tenant. */
const keyOf = (tenant: string, digest: string): string => `${tenant}\n${digest}`
