/**
 * Of two messages that say nearly the same, the newer one is the present state: it goes first, within the first hits
 * of a question about the present. A taste, not a fact: it costs .006 nDCG@10 on chats and nothing of recall, so a
 * search can switch it off (contract: Search).
 */
import type { CandidateMessage } from "./Evidence.ts"
import { messageTraits } from "../text/MessageText.ts"

/** How many of the first hits may change places. */
export const NEWER_FIRST_HITS = 5
/**
 * Cosine of two messages that are about the same thing, on the scale of e5-small-v2. At .92 two thirds as many updates
 * are put right; at .88 the right subject is pushed off the top in one case of eight.
 */
export const SAME_MATTER_COSINE_MIN = 0.9

export interface DatedMessage {
  readonly createdAt: number
  readonly eventAt?: number | undefined
  readonly message?: (CandidateMessage & { readonly position?: number | undefined }) | undefined
}

/** May two of the first hits change places? Two statements of one speaker, whatever they say. */
export const areComparable = (one: DatedMessage, other: DatedMessage): boolean =>
  isStatement(one) && isStatement(other) && one.message?.speaker === other.message?.speaker

const isStatement = ({ message }: DatedMessage): boolean =>
  message !== undefined && (message.traits & messageTraits.onlyAsks) === 0

/** `isSameMatter` is asked for comparable pairs only. Returns the same array if nothing changes places. */
export const newerUp = <A extends DatedMessage>(
  ranking: ReadonlyArray<A>,
  isSameMatter: (one: A, other: A) => boolean
): ReadonlyArray<A> => {
  const first = ranking.slice(0, NEWER_FIRST_HITS)
  let isChanged = false
  for (let at = 1; at < first.length; at++) {
    const hit = first[at]!
    const place = first.findIndex(
      (older, before) => before < at && areComparable(older, hit) && isNewer(hit, older) && isSameMatter(older, hit)
    )
    if (place === -1) continue
    first.splice(at, 1)
    first.splice(place, 0, hit)
    isChanged = true
  }
  return isChanged ? [...first, ...ranking.slice(NEWER_FIRST_HITS)] : ranking
}

const isNewer = (one: DatedMessage, other: DatedMessage): boolean =>
  ((one.eventAt ?? one.createdAt) - (other.eventAt ?? other.createdAt) ||
    one.createdAt - other.createdAt ||
    (one.message?.position ?? 0) - (other.message?.position ?? 0)) > 0
