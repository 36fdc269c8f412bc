/**
 * Checks of what a contestant answers, before it is timed and again after: what was stored is found by its own words
 * and comes back as it was, a filter is kept, and a page is full. Throws on the first violation: a fast wrong answer is
 * not a result.
 */
import { resultsMax, type Hit, type Running } from "./Contestant.ts"
import type { Corpus, Passage } from "./Corpus.ts"

/** Approximate indexes may miss one probe; more is a failure. */
const foundShareMin = 0.95

/** Share of the probes that are found again. */
export const checkAnswers = async (
  contestant: Running,
  corpus: Corpus,
  stored: ReadonlySet<string>
): Promise<number> => {
  const { name, search } = contestant
  const byName = new Map(corpus.passages.map((passage) => [passage.name, passage]))
  const fail = (what: string): never => {
    throw new Error(`${name} ${what}`)
  }
  const probes = corpus.probes.filter(({ passage }) => stored.has(passage.name))
  let found = 0
  for (const { passage, query } of probes) {
    const hits = await search(query)
    if (hits.some((hit) => hit.name === passage.name)) found++
    if (hits.some((hit) => !isStored(hit, byName, stored))) fail("gives something back that was not stored like this")
  }
  const share = found / probes.length
  if (share < foundShareMin) fail(`finds ${found} of ${probes.length} memories by their own words`)
  const subjects = Map.groupBy(
    corpus.passages.filter((passage) => stored.has(passage.name)),
    ({ subjectId }) => subjectId
  )
  for (const [subjectId, own] of subjects) {
    if (own.length < resultsMax) continue
    const hits = await search({ ...corpus.questions[0]!, subjectId })
    if (hits.length !== resultsMax) fail(`finds ${hits.length} of ${resultsMax} memories of ${subjectId}`)
    if (hits.some((hit) => byName.get(hit.name)?.subjectId !== subjectId)) fail(`does not keep the filter ${subjectId}`)
  }
  return share
}

const isStored = (
  { name, text }: Hit,
  passages: ReadonlyMap<string, Passage>,
  stored: ReadonlySet<string>
): boolean => {
  return stored.has(name) && passages.get(name)?.text === text
}
