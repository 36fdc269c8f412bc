/**
 * A reading by rules and by a model whose results are stored together: the model is shown what rules found as known, and
 * what it replaces of that is left out, and so is what a message tells that is not to be kept.
 */
import { Effect } from "effect"
import type { Candidate, Extraction, ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import { isFactKind } from "@muniment/schemas/BuiltinKinds"
import { statementOf } from "./KnownMemories.ts"

export const readBoth = Effect.fn("readBoth")(function* (
  { extract, extractAtOnce }: Extractor["Service"],
  asked: ExtractionRequest
) {
  const early = extractAtOnce === undefined ? undefined : yield* extractAtOnce(asked)
  if (early === undefined) return yield* extract(asked)
  const found = new Map(early.candidates.map((candidate, at) => [`rules ${at}`, candidate]))
  const own = Array.from(found, ([id, candidate]) => ({
    id,
    ...statementOf(candidate),
    isOpen: isFactKind(candidate.kind)
  }))
  const known: ExtractionRequest["known"] = (texts) =>
    Effect.map(asked.known?.(texts) ?? Effect.succeed([]), (stored) => [...own, ...stored])
  const extraction = yield* extract({ ...asked, known })
  const withheld = new Set(extraction.withheld)
  const isWithheld = ({ sources }: Candidate) => sources.some((source) => withheld.has(source))
  const replaced = new Set<string>()
  const inPlace = new Map<Candidate, Candidate>()
  for (const candidate of extraction.candidates) {
    const { supersedes, ...rest } = candidate
    if (typeof supersedes === "object") {
      const before = inPlace.get(supersedes)
      if (before !== undefined) inPlace.set(candidate, { ...rest, supersedes: before })
      continue
    }
    const ofRules = supersedes === undefined ? undefined : found.get(supersedes)
    if (supersedes === undefined || ofRules === undefined) inPlace.set(candidate, candidate)
    // The words of what is withheld are carried on by nothing; of two in one place the second would end the first.
    else if (!isWithheld(ofRules))
      inPlace.set(candidate, { ...rest, slot: replaced.has(supersedes) ? undefined : ofRules.slot })
    if (supersedes !== undefined) replaced.add(supersedes)
  }
  return {
    ...extraction,
    candidates: [
      ...Array.from(found).flatMap(([id, one]) => (replaced.has(id) || isWithheld(one) ? [] : [one])),
      ...inPlace.values()
    ],
    dropped: [...early.dropped, ...extraction.dropped],
    summary: early.summary
  } satisfies Extraction
})
