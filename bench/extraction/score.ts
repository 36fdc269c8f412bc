/**
 * Scores of an extractor on labelled conversations: pure, one candidate for one label at most. A second
 * wording of what was already counted is a fault, since a memory would be stored twice.
 */
import type { Candidate } from "@muniment/insight/extraction/Extractor"
import type { Forbidden, Label, LabelledConversation } from "./LabelledSet.ts"
import { isForbidden, verdict } from "./Verdicts.ts"

export interface KindScore {
  /** Labels, and those that a candidate met (by the label's first form). */
  readonly expected: number
  readonly recalled: number
  /** Candidates that count, and those that met a label. */
  readonly found: number
  readonly correct: number
}

/** Candidates whose confidence lies in one tenth of 0..1. */
export interface ConfidenceBin {
  readonly from: number
  readonly candidates: number
  readonly meanConfidence: number
  readonly precision: number
}

export interface ConversationFailures {
  readonly id: string
  readonly missed: ReadonlyArray<Label>
  readonly wrong: ReadonlyArray<Candidate>
  /** Right but for the day; they stand among `missed` and `wrong` too. */
  readonly misdated: ReadonlyArray<Candidate>
  readonly forbidden: ReadonlyArray<Forbidden>
}

export interface Score {
  readonly conversations: number
  readonly kinds: Readonly<Record<string, KindScore>>
  readonly all: KindScore
  /** Candidates that met a label which counts neither way. */
  readonly accepted: number
  /** Labelled events found, and those of them with the right day or rightly none. */
  readonly events: { readonly found: number; readonly dated: number }
  /** Conversations without a label: how many, how many gave a wrong candidate. */
  readonly empty: { readonly conversations: number; readonly spoiled: number }
  readonly forbidden: { readonly listed: number; readonly hit: number }
  readonly calibration: ReadonlyArray<ConfidenceBin>
  readonly failures: ReadonlyArray<ConversationFailures>
}

/** `results`: candidates by conversation id; a conversation without any gave none. */
export const score = (
  conversations: ReadonlyArray<LabelledConversation>,
  results: ReadonlyMap<string, ReadonlyArray<Candidate>>
): Score => {
  const outcomes = conversations.map((conversation) => outcomeOf(conversation, results.get(conversation.id) ?? []))
  const kinds = [
    ...new Set(outcomes.flatMap((one) => [...one.expected, ...one.counted].map(({ kind }) => kind)))
  ].sort()
  const empty = outcomes.filter(({ expected }) => expected.length === 0)
  return {
    conversations: conversations.length,
    kinds: Object.fromEntries(kinds.map((kind) => [kind, kindScore(outcomes, (one) => one.kind === kind)])),
    all: kindScore(outcomes, () => true),
    accepted: sumOf(outcomes, ({ accepted }) => accepted),
    events: {
      found: sumOf(outcomes, ({ met, misdated }) => met.filter(isDated).length + misdated.length),
      dated: sumOf(outcomes, ({ met }) => met.filter(isDated).length)
    },
    empty: { conversations: empty.length, spoiled: empty.filter(({ counted }) => counted.length > 0).length },
    forbidden: {
      listed: sumOf(conversations, ({ forbidden }) => forbidden.length),
      hit: sumOf(outcomes, ({ forbidden }) => forbidden.length)
    },
    calibration: calibrationOf(outcomes),
    failures: outcomes.map(failuresOf).filter(isFailure)
  }
}

interface Outcome {
  readonly id: string
  readonly expected: ReadonlyArray<Label>
  /** Candidates less those that met an accepted label. */
  readonly counted: ReadonlyArray<Candidate>
  readonly met: ReadonlyArray<Label>
  readonly right: ReadonlySet<Candidate>
  readonly misdated: ReadonlyArray<Candidate>
  readonly accepted: number
  readonly forbidden: ReadonlyArray<Forbidden>
}

const outcomeOf = (conversation: LabelledConversation, candidates: ReadonlyArray<Candidate>): Outcome => {
  const { id, expected, accepted, forbidden, names = [] } = conversation
  const isRight = (candidate: Candidate, label: Label): boolean => verdict(candidate, label, names) === "right"
  const matched = pair(expected, candidates, isRight)
  const right = new Set(matched.values())
  const spare = candidates.filter((candidate) => !right.has(candidate))
  const fair = new Set(pair(accepted, spare, isRight).values())
  const wrong = spare.filter((candidate) => !fair.has(candidate))
  const missed = expected.filter((label) => !matched.has(label))
  const misdated = pair(missed, wrong, (candidate, label) => verdict(candidate, label, names) === "wrong date")
  return {
    id,
    expected,
    counted: candidates.filter((candidate) => !fair.has(candidate)),
    met: expected.filter((label) => matched.has(label)),
    right,
    misdated: [...misdated.values()],
    accepted: fair.size,
    forbidden: forbidden.filter((one) => wrong.some((candidate) => isForbidden(candidate, one, names)))
  }
}

/** The largest one-to-one pairing, by augmenting paths (H. W. Kuhn, 1955). */
const pair = (
  labels: ReadonlyArray<Label>,
  candidates: ReadonlyArray<Candidate>,
  fits: (candidate: Candidate, label: Label) => boolean
): ReadonlyMap<Label, Candidate> => {
  const labelOf = new Map<Candidate, Label>()
  const place = (label: Label, seen: Set<Candidate>): boolean => {
    for (const candidate of candidates) {
      if (seen.has(candidate) || !fits(candidate, label)) continue
      seen.add(candidate)
      const holder = labelOf.get(candidate)
      if (holder !== undefined && !place(holder, seen)) continue
      labelOf.set(candidate, label)
      return true
    }
    return false
  }
  for (const label of labels) place(label, new Set())
  return new Map([...labelOf].map(([candidate, label]) => [label, candidate]))
}

const kindScore = (
  outcomes: ReadonlyArray<Outcome>,
  counts: (one: { readonly kind: string }) => boolean
): KindScore => ({
  expected: sumOf(outcomes, ({ expected }) => expected.filter(counts).length),
  recalled: sumOf(outcomes, ({ met }) => met.filter(counts).length),
  found: sumOf(outcomes, ({ counted }) => counted.filter(counts).length),
  correct: sumOf(outcomes, ({ right }) => [...right].filter(counts).length)
})

const isDated = ({ data }: Label): boolean => "eventDate" in data

const binCount = 10

const calibrationOf = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<ConfidenceBin> =>
  Array.from({ length: binCount }, (_, bin) => {
    const members = outcomes.flatMap(({ counted, right }) =>
      counted
        .filter(({ confidence }) => Math.min(binCount - 1, Math.floor(confidence * binCount)) === bin)
        .map((candidate) => ({ confidence: candidate.confidence, isRight: right.has(candidate) }))
    )
    return {
      from: bin / binCount,
      candidates: members.length,
      meanConfidence: sumOf(members, ({ confidence }) => confidence) / members.length,
      precision: members.filter(({ isRight }) => isRight).length / members.length
    }
  }).filter(({ candidates }) => candidates > 0)

const failuresOf = ({ id, expected, counted, met, right, misdated, forbidden }: Outcome): ConversationFailures => ({
  id,
  missed: expected.filter((label) => !met.includes(label)),
  wrong: counted.filter((candidate) => !right.has(candidate)),
  misdated,
  forbidden
})

const isFailure = ({ missed, wrong, forbidden }: ConversationFailures): boolean =>
  missed.length + wrong.length + forbidden.length > 0

const sumOf = <A>(items: ReadonlyArray<A>, of: (item: A) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0)
