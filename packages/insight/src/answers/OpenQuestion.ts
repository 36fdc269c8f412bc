/**
 * Questions that no single statement answers: lists, counts of what happened, what somebody would do, summaries. They are
 * not answered without a model; the memories that were found are shown instead. The tests run every row's example and
 * counterexample.
 */

export type OpenForm = "list" | "count" | "would" | "summary"

interface OpenFormRow {
  readonly form: OpenForm
  readonly pattern: RegExp
  readonly example: string
  readonly counterexample: string
}

/** In lower case. */
export const openFormOf = (lower: string): OpenForm | undefined =>
  openForms.find(({ pattern }) => pattern.test(lower))?.form

/** A noun in the plural: not "news", "is", "was", "class", "bus". */
const PLURAL = "(?!(?:is|was|does|has|this|his|its|news|[\\p{L}-]+'s)\\b)[\\p{L}-]{2,}[^su\\P{L}]s"

export const openForms: ReadonlyArray<OpenFormRow> = [
  {
    form: "would",
    pattern: /\b(?:would|might|likely|probably)\b|\bcould (?!you)/,
    example: "what job might maria pursue?",
    counterexample: "could you tell me where maria works?"
  },
  {
    form: "summary",
    pattern:
      /\b(?:summari[sz]e|summary|overview|describe[ds]?|tell me (?:all )?about|how (?:has|have|did|do|does) [^?]+ (?:change[ds]?|evolve[ds]?|develop(?:ed)?|progress(?:ed)?))\b/,
    example: "how has her job changed since may?",
    counterexample: "when did her job change?"
  },
  {
    form: "count",
    pattern:
      /\bhow many (?:different |other )?times\b|\bby how (?:much|many)\b|\bhow (?:many|much)\b[^?]*\b(?:in total|altogether|so far|overall)\b|\bhow many [^?]*?\b(?:has|have|had|did|of) (?!(?:\p{L}+ )?(?:have|got|own)\b)[^?]+ (?:\p{L}{2,}(?:ed|en|ne)|won|made|read|been|gone|met|bought|done|run|sold|taught|had)\b/u,
    example: "how many times has she been to the beach?",
    counterexample: "how many cats does she have?"
  },
  {
    form: "list",
    pattern: new RegExp(
      "\\b(?:what|which|name|list) (?:are |were |all )?(?:(?:the|some|other|new|different|of|all) )*(?:kinds|types|sorts)\\b|" +
        `\\b(?:what|which) (?:(?:other|different|new|specific|main|two|three|\\p{L}+-?\\p{L}+) ){0,2}${PLURAL}\\b(?! (?:of|in) the)|` +
        `\\b(?:what|who|which) (?:are|were) (?:[^?]*'s? )?[^?]*${PLURAL}\\b|` +
        "\\bwhat (?:else|all)\\b|\\bin (?:what|which) ways\\b|\\bboth\\b|\\b(?:list|name) (?:all|the|some|every)\\b",
      "u"
    ),
    example: "what activities does melanie like?",
    counterexample: "what is the class about?"
  }
]
