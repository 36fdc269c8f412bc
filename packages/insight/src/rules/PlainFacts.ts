/**
 * Fallback for what no other family matches: a statement in the present about a named person or a relative, or a lasting
 * one about the user, found by exclusion. Moods, moments, talk about the conversation and bare pronouns are left out.
 * Lower confidence than a known form.
 */
import { technical } from "./FactRules.ts"
import { entityOf, factOf, type Finding, type RuleFamily, type Scene } from "./Finding.ts"

/** Predicates about a person that are not lasting facts. */
const moment =
  /^(?:(?:am|is|are|was|were) (?:(?:not|so|very|really|too|pretty|quite|a bit|a little|all|always|being|getting|feeling|just|kind of|such an?|(?:the|an?) (?:best|worst|same|legend|star|mess|idiot|nightmare|pain|joke|problem)) ?)*(?:$|tired|sad|happy|fine|good|great|ok|okay|busy|late|here|there|home|back|right|wrong|sure|ready|done|angry|mad|upset|nice|lovely|funny|sweet|amazing|awesome|cute|crazy|weird|annoying|sick|ill|coming|going|waiting|asking|looking|trying|calling|kidding|joking|sorry|glad|worried|bored|stressed|confused|excited|hungry|asleep|awake|in (?:a )?(?:meeting|hurry|trouble|love with|the (?:shower|room|kitchen|car))|out\\b|on (?:the|my|his|her) (?:phone|way)|that|what|why|who|how|it\\b|to blame|afraid that|supposed|about to|like\\b|dying|struggling to|having (?:trouble|issues|problems|fun)))/i

const talk =
  /^(?:(?:do|does|did|am|is|are|was|were|have|has|had|will|can|could|would|should|must) not |never |always |also |just |only |still )*(?:(?:have|has|had) )?(?:think|thinks|thought|woke|slept|ate|guess|guesses|know|knows|knew|known|see|sees|saw|seen|mean|means|meant|feel|feels|felt|hear|hears|heard|understand|understands|wonder|wonders|believe|believes|hope|hopes|want|wants|wanted|need|needs|needed|try|tries|tried|find|finds|found|say|says|said|tell|tells|told|ask|asks|asked|call|calls|called|suppose|supposes|agree|agrees|appreciate|look|looks|looked|sound|sounds|seem|seems|seemed|let|lets|make|makes|made|keep|keeps|give|gives|gave|show|shows|showed|get|gets|got|take|takes|took|put|puts|come|comes|came|go|goes|went|do|does|did|done|will|can|could|would|should|must|may|might|shall|used|use|uses|remember|forget|forgot|notice|noticed|expect|assume|doubt|bet|swear|promise|wish|recommend|suggest|insist|insists|send|sends|sent|write|wrote|run into|turn|turns|turned|return|returns|print|prints|fail|fails|crash|crashes|throw|throws|work|works|worked|help|helps|helped|care|mind|minds|matter|matters|stand for|been trying|been thinking|been wondering|been looking|been having|tried|a|an|any|no|some|to|the)\b/i

const pointing =
  /\b(?:you|your|this|that|these|those|it|them|error|errors|bug|code|function|script|file|output|exception|question|message|answer|chat|conversation|prompt|today|tonight|tomorrow|yesterday|right now|at the moment)\b/i

const spanned = /^(?:have|has) been (?:[\w-]+ing|an?|with|in|on|at)\b.*\b(?:for (?!you)|since )/i
const lacking = /^(?:do|does) not have (?:an? |any )\w+/i
const ownWords = 3

export const plainFacts: RuleFamily = (scene) => {
  const { predicate, subject, tense } = scene.clause
  if (subject.type === "attribute") return thingFact(scene, subject.noun)
  if (pointing.test(predicate) || moment.test(predicate) || technical.test(predicate)) return undefined
  const isSpanned = spanned.test(predicate)
  if (!isSpanned && !lacking.test(predicate) && talk.test(predicate)) return undefined
  if (!/^\p{Ll}+ \S/u.test(predicate) || /^(?:is|are|was|were) (?:my|our|\p{Lu})/u.test(predicate)) return undefined
  if (tense === "past" && scene.dates.some(({ start }) => start !== undefined)) return undefined
  if (subject.type === "speaker") {
    const isLasting =
      isSpanned || lacking.test(predicate) || (tense === "present" && !/^(?:am|is|are)\b/.test(predicate))
    if (!isLasting || predicate.split(" ").length < 2) return undefined
  } else if (subject.person.name === undefined && tense === "past" && predicate.split(" ").length < ownWords)
    return undefined
  return [factOf(scene, "plain", entityOf(scene, {}))]
}

const group =
  /^(?:company|team|school|office|employer|firm|church|band|club|startup|department|choir|university|union)$/i
const owned =
  /^(?:home|house|flat|apartment|place|garden|car|bike|van|boat|commute|laptop|computer|phone|office|kitchen|building|street|village|town|shift|shifts)$/i
const ended =
  /^(?:expires?|ends?|runs? out|(?:is|are) (?:bad|weak|failing|shot|getting worse|acting up)$|(?:is|was|were|has been|got) (?:cancelled|canceled|postponed|called off|stolen|sold|rejected|accepted|approved|broken into|written off|renewed)|(?:fell|has fallen) through)\b/i

/** `our company uses Kotlin`, `my passport expires in November`. */
const thingFact = (scene: Scene, noun: string): ReadonlyArray<Finding> | undefined => {
  const { predicate } = scene.clause
  // What happens on a day is an event.
  if (scene.clause.tense !== "past" && scene.dates.some(({ start }) => start !== undefined)) return undefined
  if (/\b(?:you|your|error|bug|code)\b/i.test(`${noun} ${predicate}`)) return undefined
  const isGroups =
    group.test(noun) &&
    !moment.test(predicate) &&
    /^(?:uses?|makes|sells|builds|is an?|has|moved|runs|closes|meets)\b/.test(predicate)
  const isOfThing =
    owned.test(noun) &&
    /^(?:has|have|takes|runs|costs|needs|overlooks|faces|lacks|does not have|used to be)\b/.test(predicate)
  return isGroups || isOfThing || ended.test(predicate) ? [factOf(scene, "plain")] : undefined
}
