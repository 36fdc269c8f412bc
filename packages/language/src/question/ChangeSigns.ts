/**
 * Signs of change in a text, in English: that a state has ended, that something is new or moved, that the text before was
 * wrong. Signs alone: what they say of a matter is decided by who asks (`AskedMatter`).
 */
import { MONTH, WEEKDAY } from "../calendar/CalendarWords.ts"
import { either, wordOf } from "../text/OneOf.ts"

/** The state before has ended, or what was said of it was wrong. */
const ended = wordOf([
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
const changed = wordOf([
  "postponed|delayed|push(?:ed)?|rescheduled|re-?booked|brought forward|bumped|extend(?:ed)?|extension|adjourned",
  "another (?:\\w+ ){0,2}(?:fortnight|week|month|day|year|hour)s?|more time",
  "raised|increased|lowered|reduced|doubled|halved|cut (?:it |me |back |down )?(?:to|down|back)",
  "(?:put|puts|went|gone|goes|going|brought|moved|took|is|are)(?: \\w+){0,6} (?:up|down) (?:to|by)",
  "put me (?:up|down|on|onto)|(?:two|three|four|one|some|a few) more|so (?:only|that makes|we are)|(?:are|is) left",
  "now|nowadays|these days|currently|from now on|finally|by now|at the moment",
  `(?:as of|from|since) (?:now|today|this|next|tomorrow|yesterday|the|last|${WEEKDAY}|${MONTH}|spring|summer|autumn|winter)`,
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

/** Takes back what its speaker said before: "Sorry, 241 I mean", "Correction: Bergen". */
export const tellsCorrection = (text: string): boolean =>
  marksCorrection.test(text) && text.split(/\s+/).length <= CORRECTION_WORDS_MAX
const CORRECTION_WORDS_MAX = 12
const marksCorrection = either(
  /^(?:(?:oh|oops|ah|um|ok|no),? )*(?:correction|sorry|wait|scrap|scratch|oops|no|nope|actually(?! yes)|make that|not|i meant?|i misspoke|rather)\b/i,
  /\bi mean(?:t)?[.!]*$/i
)

const tests =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

/** There is one more: "Our third was born", "we got another one". */
export const tellsOneMore = tests(
  either(
    /\b(?:(?:my|our|an?|the) (?:second|third|fourth|fifth|sixth)|another(?: one)?|(?:one|two|three|a few) more)(?=\W*$| (?:is|was|has|will|came|comes|just|now|last|this|today|yesterday|\p{Ll}+ed)\b)/iu,
    /\bgave birth\b/iu,
    /\b(?:second|third|fourth|fifth) (?:cat|dog|child|kid|son|daughter|baby)\b/iu
  )
)

/** "That number is dead". */
export const namesOldContact = tests(/\b(?:that|this|old) (?:number|address|e?-?mail|phone)\b/i)

/** "Rome is history", "bye Rome": of what has a name nothing else can be meant. */
export const isBehind = tests(
  either(
    /(?:\b(?:is|are)|['’]s) (?:now |all |just )?(?:history|behind (?:me|us)|over|done|finished|a memory|in the past)\b/i,
    /\b(?:good ?bye|bye|farewell|so long)\b/i
  )
)

/** Moves what it does not name: "we pushed it to the 29th", "make that two". */
export const movesUnnamed = tests(
  either(
    /\bso (?:it|that|they)['’]?(?:s|re)\b/iu,
    /\b(?:push|do|doing|mov|chang|mak|made|put|shift|bring|brought|bump|rais|cut|extend|delay|postpon)\p{L}* (?:it|that|them|this)\b/iu,
    /\b(?:it|that|they)(?:['’](?:s|ll|re)| is| are| will be)?(?: \p{L}+){0,3} (?:now|instead|then|after all|from now on)\b/iu
  )
)

/** A predicate whose verb is not of the present, as its subject is one thing: "Acme went bankrupt". */
export const tellsEvent = tests(/^\s*(?!(?:is|has|does|can|will|and|or|in|at|on)\b)\p{Ll}*[^s\P{L}]\b/u)
