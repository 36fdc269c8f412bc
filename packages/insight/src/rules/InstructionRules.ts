/**
 * Standing instructions: what the user wants of the agent from now on. Only where the sentence says that it is meant for
 * good ("always", "never", "from now on", "please do not"), begins as an order, and orders what an agent does: answer, write,
 * call somebody something. A request for once, and what points at something that was said before, are none.
 */
import { wordSet } from "../text/wordSet.ts"
import { capitalised, type Finding } from "./Finding.ts"
import type { People } from "./People.ts"
import { inThirdPerson } from "./ThirdPerson.ts"

/** What agents do for their users, as an order. */
const agentVerbs = wordSet(`
  abbreviate add address answer apologise apologize ask assume be begin call check cite confirm convert default double-check
  end explain format give greet include keep limit list mention offer open prefer provide put quote recommend refer remind
  reply respond round show sign skip speak spell start stick suggest summarise summarize talk translate use write
`)

/** Said of this moment, or of what was said before. */
const once = /\b(?:this|that|it|those|these|today|tonight|yet|again|here|anymore|right now|for now|just now)\b/i

const lead = String.raw`^(?:(?:please|ok(?:ay)?|so|and|also|but|oh|hey)[\s,]+)*`
const forms: ReadonlyArray<RegExp> = [
  // "From now on, (always) answer in French", "In future please do not use emojis".
  new RegExp(
    `${lead}(?:from (?:now|here) on|from this point on|going forward|in (?:the )?future)[\\s,:]+(?:please[\\s,]+)?(?<order>(?:always |never |do not (?:ever )?|avoid |stop )?(?<verb>[\\p{L}-]+)(?: .+)?)$`,
    "iu"
  ),
  // "Answer me in French from now on."
  new RegExp(
    `${lead}(?<order>(?:do not |avoid |stop )?(?<verb>[\\p{L}-]+) .+?),? (?:from (?:now|here) on|going forward|in (?:the )?future)$`,
    "iu"
  ),
  // "Always answer in metric units", "never call me Bobby", "do not ever use emojis".
  new RegExp(`${lead}(?<order>(?:always |never |do not ever )(?<verb>[\\p{L}-]+) .+)$`, "iu"),
  // "Please do not use emojis."
  new RegExp(`${lead}(?<=please[\\s,]+)(?<order>do not (?<verb>[\\p{L}-]+) .+)$`, "iu")
]

/** `sentence` has its contractions expanded. */
export const standingInstruction = (sentence: string, people: People): Finding | undefined => {
  const said = sentence.trim().replace(/[\s.!]+$/, "")
  if (said.endsWith("?") || once.test(said)) return undefined
  for (const form of forms) {
    const { order, verb } = form.exec(said)?.groups ?? {}
    if (order === undefined || verb === undefined || !isAgents(verb)) continue
    const text = `${capitalised(inThirdPerson(order, people))}.`
    return { rule: "instruction", type: "instruction", subject: people.speaker, text }
  }
  return undefined
}

/** "Stop using", "avoid giving" too. */
const isAgents = (verb: string): boolean => {
  const word = verb.toLowerCase()
  const stem = word.replace(/ing$/, "")
  return [word, stem, `${stem}e`, stem.replace(/(.)\1$/, "$1")].some((form) => agentVerbs.has(form))
}
