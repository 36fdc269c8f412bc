/** A sentence with its contractions written out, so that patterns see `I am` and `do not` only. */

/** Straight quotes and dashes; `I'm`, `im` -> `I am`; `don't` -> `do not`. Names with `'s` stay as they are. */
export const writtenOut = (text: string): string =>
  contractions.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), plainMarks(text))

export const plainMarks = (text: string): string =>
  text
    .replace(/[\u2018\u2019\u02bc]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2013\u2014]/g, " - ")

const contractions: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bcan't\b|\bcant\b|\bcannot\b/gi, "can not"],
  [/\bwon't\b/gi, "will not"],
  [/\bain't\b/gi, "am not"],
  [/\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t\b/gi, "$1 not"],
  [/\b(that|what|he|she|they|there|who)s\b/g, "$1's"],
  [/\bits (?=(?:an?|the|my|on|in|at|not|just|so|too|called|about|now|been)\b)/g, "it is "],
  [/\b(?:i'm|im)\b/gi, "I am"],
  [/\b(?:i've|ive)\b/gi, "I have"],
  [/\bi'll\b/gi, "I will"],
  [/\b(i|we|you|he|she|they)'d (been|had|gone|never|always)\b/gi, "$1 had $2"],
  [/\b(i|we|you|he|she|they|it)'d\b/gi, "$1 would"],
  [/\b(you|we|they|these|those)'re\b/gi, "$1 are"],
  [/\b(you|we|they)'ve\b/gi, "$1 have"],
  [/\b(you|we|they|he|she|it|there|that)'ll\b/gi, "$1 will"],
  [/\b(he|she|it|that|there|who)'s (been|got|had|gone|become|always been)\b/gi, "$1 has $2"],
  [/\b(he|she|it|that|there|who|what|where|how|here|name|birthday)'s\b/gi, "$1 is"],
  [/\b(\p{L}+)'s (got|been|gone|had)\b/giu, "$1 has $2"],
  [
    /\b(\p{Ll}+)'s (?=(?:booked|scheduled|due|set|planned|cancelled|canceled|postponed|tomorrow|next \p{L}|on (?:the|\d|\p{Lu})))/gu,
    "$1 is "
  ],
  [/\b((?:grand)?(?:mother|father|parents)|sister|brother|son|daughter) in law\b/gi, "$1-in-law"],
  [/\bgonna\b/gi, "going to"],
  [/\bwanna\b/gi, "want to"],
  [/\bgotta\b/gi, "have to"],
  [/\bfave?\b/gi, "favorite"],
  [/\bfavourite\b/gi, "favorite"],
  [/(^|[^\w'])i(?=[\s,])/g, "$1I"]
]

export const sentencesOf = (text: string): ReadonlyArray<string> =>
  text.split(/(?<=[.!?…]["'”’)]?)\s+/u).filter((sentence) => sentence !== "")
