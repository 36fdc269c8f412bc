/**
 * Signs in the text of a message that it tells of a change. Read by rules, in English, of the few messages that may
 * change places; a text without any of them changes nothing.
 */

const oneOf = (phrases: ReadonlyArray<string>): RegExp => new RegExp(String.raw`\b(?:${phrases.join("|")})\b`, "i")

/** Patterns of times by their names. */
export const timeNames = {
  weekday: "(?:mon|tues|wednes|thurs|fri|satur|sun)day",
  month:
    "(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter)"
} as const

/** The state before has ended, or what was said of it was wrong. */
const ended = oneOf([
  "no longer",
  "(?:not|no|\\w+n't)(?: \\w+){0,6} any ?more",
  "no more",
  "instead",
  "after all",
  "in the end",
  "scratch that",
  "correction",
  "change of plans?",
  "i (?:was wrong|misread|misheard|mixed (?:it|that|them) up|got (?:that|it) wrong|meant)",
  "turn(?:s|ed) out",
  "switch(?:ed|ing)|chang(?:ed|ing)|swapp(?:ed|ing)|replac(?:ed|ing|es)|transferr(?:ed|ing)|ported",
  "mov(?:ed|ing) (?:me|it|us|to|out|in|into|back|house|my|the|our|on|from|over|away)|moved|the move",
  "sold|traded|(?:gave|give|given|giving)(?: \\w+){0,3} (?:up|away)|gave up|got rid of|upgraded|downgraded",
  "quit|quitting|resigned|dropped|stopped|ditched|cancel(?:l?ed|ling)|closed (?:my|our|the)|left (?:the|my|our|behind|for)|left|done with|fed up with",
  "my notice|let go|laid off|fired|retired|promoted|(?:took|takes|taken|taking) over",
  "broke up|broken up|split up|divorced|separated|passed away|died|without a",
  "(?:is|are|was|were) off|fell through|call(?:ed)? (?:it )?off|scrapped|can't make it|hurt (?:her|his|my)|(?:is|was|are) taken|(?:is|was) full",
  "went (?:for|with|back)|ended up|settled (?:on|for)|became|renamed|talked me into|says? yes|said (?:yes|no)"
])

/** A date, an hour or an amount is another one; something holds from some time on, began, or is new. */
const changed = oneOf([
  "postponed|delayed|push(?:ed)?|rescheduled|re-?booked|brought forward|bumped|extend(?:ed)?|extension|adjourned",
  "another (?:\\w+ ){0,2}(?:fortnight|week|month|day|year|hour)s?|more time",
  "raised|increased|lowered|reduced|doubled|halved|cut (?:it |me |back |down )?(?:to|down|back)",
  "(?:put|puts|went|gone|goes|going|brought|moved|took|is|are)(?: \\w+){0,6} (?:up|down) (?:to|by)",
  "put me (?:up|down|on|onto)|(?:two|three|four|one|some|a few) more|so (?:only|that makes|we are)|(?:are|is) left",
  "now|nowadays|these days|currently|from now on|finally|by now|at the moment",
  `(?:as of|from|since) (?:now|today|this|next|tomorrow|yesterday|the|last|${timeNames.weekday}|${timeNames.month})`,
  "since [a-z]",
  "start(?:ed|ing)|began|begun|joined|signed|hired|adopted|rented|picked up|bought|booked|took (?:in|on)",
  "first (?:day|week|month|shift|lesson|class)|got (?:the|my|our|a|an) (?:new|keys|offer)|got the keys",
  "made me an offer|offered me|accepted|engaged|married|arrived|is here|'s here|born",
  "(?:gave|sent|got) (?:me|us) (?:a|an|the)|we've got|i've got|took a",
  "(?:my|our) (?:own |little |new )+\\w+",
  "(?:the|a) new (?:one|house|flat|place|job|car|number|card|sim|phone)",
  "new sim"
])

/** Whether the text says that what was is over, or was wrong. */
export const tellsEnd = (text: string): boolean => ended.test(text.replaceAll("\u2019", "'"))

/** Whether the text has any sign. */
export const tellsChange = (text: string): boolean => tellsEnd(text) || changed.test(text.replaceAll("\u2019", "'"))
