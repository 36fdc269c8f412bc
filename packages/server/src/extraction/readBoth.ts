/**
 * A reading by rules and by a model whose results are stored together: the model is shown what rules found as known, and
 * what it replaces of that is left out, and so is what a message tells that is not to be kept.
 */
import { Effect } from "effect"
import type { Candidate, Extraction, ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import { statementOf } from "./KnownMemories.ts"

export const readBoth = Effect.fn("readBoth")(function* (
  { extract, extractAtOnce }: Extractor["Service"],
  asked: ExtractionRequest
) {
  const early = extractAtOnce === undefined ? undefined : yield* extractAtOnce(asked)
  if (early === undefined) return yield* extract(asked)
  const found = new Map(early.candidates.map((candidate, at) => [`rules ${at}`, candidate]))
  const own = Array.from(found, ([id, candidate]) => ({ id, ...statementOf(candidate), isOpen: true }))
  const known: ExtractionRequest["known"] = (texts) =>
    Effect.map(asked.known?.(texts) ?? Effect.succeed([]), (stored) => [...own, ...stored])
  const extraction = yield* extract({ ...asked, known })
  const inPlace = (candidate: Candidate): Candidate => {
    const { supersedes, ...rest } = candidate
    const replaced = typeof supersedes === "string" ? found.get(supersedes) : undefined
    return replaced === undefined ? candidate : { ...rest, slot: replaced.slot }
  }
  const replaced = new Set(extraction.candidates.map(({ supersedes }) => supersedes))
  const withheld = new Set(extraction.withheld)
  const isLeft = ([id, { sources }]: readonly [string, Candidate]) =>
    !replaced.has(id) && !sources.some((source) => withheld.has(source))
  return {
    ...extraction,
    candidates: [
      ...Array.from(found).flatMap((one) => (isLeft(one) ? [one[1]] : [])),
      ...extraction.candidates.map(inPlace)
    ],
    dropped: [...early.dropped, ...extraction.dropped],
    summary: early.summary
  } satisfies Extraction
})
