/**
 * Facts of a subject that contradict each other (contract: Context): current statements of the same person that give an
 * attribute with one value at a time several values, or a liking and a dislike of the same thing. By English words, as
 * answers tell which of several values holds.
 *
 * Invariant: what is said to be past, a detail of another value, or about somebody else contradicts nothing.
 */
import type { MemoryVersion } from "@muniment/domain/Memory"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { isOfPast, valueStated } from "@muniment/language/question/SlotValue"
import type { SubjectFact } from "./SubjectFacts.ts"

export interface Conflict {
  /** As `home`, or in the words of the newest of them. */
  readonly attribute: string
  /** Newest first; at least two. */
  readonly facts: ReadonlyArray<SubjectFact>
}

export const conflictsIn = (facts: ReadonlyArray<SubjectFact>): ReadonlyArray<Conflict> => {
  const stated = facts.flatMap((fact) => {
    if (isOfPast(fact.text)) return []
    const value = valueStated(fact.memory, statementOf(fact.memory), fact.text)
    return value === undefined ? [] : [{ fact, ...value }]
  })
  const byMatter = Map.groupBy(stated, ({ fact, slot }) => `${slot} of ${fact.about?.toLowerCase() ?? ""}`)
  return [...byMatter.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || !group.some(({ value }) => differs(value, first.value))) return []
    const known = group.toSorted((one, other) => other.fact.sinceMillis - one.fact.sinceMillis)
    return [{ attribute: known[0]?.attribute ?? first.attribute, facts: known.map(({ fact }) => fact) }]
  })
}

const statementOf = ({ createdAt, data, id, kind, when }: MemoryVersion) =>
  readStatement({ id, kind, data, when, createdAt, relevance: 1, passage: undefined })

/** "Oslo" and "Oslo, Norway" are one value. */
const differs = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  !one.isSubsetOf(other) && !other.isSubsetOf(one)
