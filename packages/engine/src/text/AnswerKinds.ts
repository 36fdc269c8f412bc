/**
 * What kind of thing a text holds (a date, a number, a place, a name, a reason), and what kind the form of a question asks
 * for: "when" for a date, "how many" for a number. By signs, in English; a text may hold all kinds, and a question without
 * such a form asks for none.
 */
export const answerKinds = { date: 32, number: 64, place: 128, name: 256, reason: 512 } as const
type AnswerKind = keyof typeof answerKinds

const anyOf = (parts: ReadonlyArray<string>, flags = "i"): RegExp => new RegExp(`\\b(?:${parts.join("|")})\\b`, flags)

const months =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
const relative = "today|tomorrow|yesterday|tonight|noon|midnight|o'clock|since|birthday"
const periods = "week|weekend|month|year|night|morning|spring|summer|autumn|fall|winter"
const numerals = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
const before = "in|at|to|from|near|into"

/** Signs of each kind in a text. */
const signs: Readonly<Record<AnswerKind, ReadonlyArray<RegExp>>> = {
  date: [
    anyOf([months, "nov(?:ember)?|dec(?:ember)?", "(?:mon|tues|wednes|thurs|fri|satur|sun)days?", relative]),
    anyOf([`(?:last|next|this|every) (?:${periods})`, "(?:days?|weeks?|months?|years?) ago"]),
    anyOf(["(?:19|20)\\d\\d", "\\d+(?:st|nd|rd|th)", "\\d{1,2}:\\d\\d", "\\d{1,2} ?[ap]m"]),
    /\bMay\b/
  ],
  number: [/\d/, anyOf([numerals, "thousand|dozen|half|couple|once|twice"])],
  place: [
    new RegExp(`\\b(?:${before}) (?:the )?[A-Z][a-z]`),
    anyOf([`(?:${before}|behind|under|on) (?:the|my|our|a) \\w+`])
  ],
  name: [/(?<![.!?:"]\s)(?<!^)\b[A-Z][a-z]+/],
  reason: [anyOf(["because|cos|cuz|since|so that|due to|reason|as i|that's why|so i|in order to"])]
}

/** Forms of questions, the first that matches counts. */
const forms: ReadonlyArray<readonly [AnswerKind, RegExp]> = [
  ["date", anyOf(["when", "(?:what|which) (?:date|day|time|year|month)", "how long ago"])],
  ["number", anyOf(["how (?:many|much|old|long|far|tall|big|often)", "what (?:number|age|price)"])],
  ["place", anyOf(["where", "(?:what|which) (?:city|country|town|place)"])],
  ["name", anyOf(["who|whose", "called", "what(?:'s| is| was)\\b.*\\bname"])],
  ["reason", anyOf(["why"])]
]

/** Bits of `answerKinds`. */
export const kindsIn = (text: string): number => {
  let bits = 0
  for (const kind in signs) {
    const some = kind as AnswerKind
    if (signs[some].some((sign) => sign.test(text))) bits |= answerKinds[some]
  }
  return bits
}

/** One bit of `answerKinds`; 0: the form of the question asks for none. */
export const kindAsked = (question: string): number => {
  const form = forms.find(([, pattern]) => pattern.test(question))
  return form === undefined ? 0 : answerKinds[form[0]]
}
