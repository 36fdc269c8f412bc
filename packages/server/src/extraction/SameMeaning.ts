/**
 * Meaning of a memory, independent of its wording: what is stored of a conversation once should not be stored
 * again because it was said in other words.
 *
 * Words decide, not vectors: measured with e5-small-v2, "moved from Seattle to Portland" and "moved from
 * Portland to Seattle" have a cosine of .996, "is allergic to peanuts" and "has a peanut allergy" .977
 * (README, decisions). Losing a fact is worse than keeping it twice, so only spelling, articles,
 * auxiliaries and a few synonyms may differ, and everything that is not prose has to be equal.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { canonicalJson } from "@muniment/trust/CanonicalJson"

/** Equal for two memories that mean the same. */
export const meaningOf = (data: JsonObject): string =>
  canonicalJson(
    Object.fromEntries(
      Object.entries(data)
        // The speaker of a fact does not change it.
        .filter(([name]) => name !== "source")
        .map(([name, value]) => [name, typeof value === "string" ? wording(value) : value])
    )
  )

const wording = (text: string): string => {
  let plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u2018\u2019]/g, "'")
  for (const [pattern, word] of synonyms) plain = plain.replace(pattern, word)
  return plain
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "" && !ignoredWords.has(word))
    .map((word) => (pastTense.test(word) ? word : (tokenize(word)[0] ?? word)))
    .join(" ")
}

/** Not stemmed: its stem is that of the present tense, which means something else. */
const pastTense = /ed$/

const ignoredWords = new Set(["a", "an", "the", "is", "are", "am", "be", "being", "s", "currently", "really", "very"])

const synonyms: ReadonlyArray<readonly [RegExp, string]> = [
  [/n't\b/g, " not"],
  [/\bresid(?:e|es|ing)\b/g, "live"],
  [/\bwould like to\b|\bwants? to\b/g, "want to"],
  [/\bfavourite\b/g, "favorite"],
  [/\bhas\b|\bhave got\b|\bhas got\b/g, "have"],
  [/\bcalled\b/g, "named"],
  [/\benjoys?\b/g, "like"]
]
