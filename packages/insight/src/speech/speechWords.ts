/** Words by which sentences are cut into statements (Statements.ts) and their mood is recognised (Mood.ts). */
import { phrases, wordSet } from "../text/OneOf.ts"

/** Begin a time or a place that stands before the subject. */
export const settings = wordSet(`
  yesterday today tonight tomorrow last next this in on at for since during before after until when while once from every each
  two three four five a one monday tuesday wednesday thursday friday saturday sunday back around earlier later by as whenever
`)

/** Between two statements of a run-on sentence (Statements.ts). */
export const statementJoints = phrases(String.raw`
  and / but / so(?! (?:that|far|much|long)) / because / cause / cuz / cos / plus / although / though / which is why / and so
`)

/** Forms by which a statement with a noun for its subject is known. */
export const finiteForms = phrases(String.raw`
  am / is / are / was / were / has / have / had / will / can / does / do / did / says? / said / got / gets? / lives? / works?
  loves? / likes? / hates? / wants? / needs? / keeps? / makes? / goes / comes? / came / went / moved / started / starts? / called
  thinks? / thought / told / tells? / suggested / prefers? / plays? / takes? / took / offered / might / may / would / could
  should / turned / turns / studies / teaches / runs / bought / sold / lost / left / died / opens? / closed / cancelled
`)

/** Belong to the statement behind them. */
export const statementLeads = phrases(String.raw`
  (?:remember|note|keep in mind|bear in mind|do not forget|make a note|take note|save|store)(?: .{0,20})? / correction / small correction
  (?:I )?(?:just )?(?:wanted to|want to|would like to|should|forgot to) (?:mention|add|say|tell you)(?: you)? / did I (?:mention|tell you)
  (?:for|as) .{3,30} / (?:hi|hey|hello|hiya|good \w+)(?: there)? / since we last .{3,20} / I (?:meant|mean) / sorry / actually
  put (?:this|that|it) down / add .{3,30} / my \w+ / best / cheers
`)

export const interjections = phrases(String.raw`
  oh / well / so / ok(?:ay)? / hey / hi / hello / hiya / kia ora / hei / hej / hallo / hola / bonjour / ciao / servus
  moin / g'day / howdy / namaste / yes / yeah / yep / yup / sure / no(?! longer| more| one) / nope / nah / right / alright / ah / aha / hmm+
  um+ / uh / great / thanks / thank you / thx / cool / nice / good (?:morning|evening|afternoon) / anyway / also
  plus / and / but / actually / honestly / btw / fyi / look / listen / sorry / wait / ha(?:ha)* / lol / technically
  now / mostly / update / correction / fun fact / quick update / small correction / good news / bad news / great news
  sad news
`)

export const questionWords = phrases(String.raw`
  who / what / when / where / why / which / how / whose / whom / do / does / did / is / are / was / were / can / could
  would / will / shall / should / may / might / am / have you / has / had / isn't / aren't / don't / doesn't / didn't
  any (?:idea|chance|suggestion|tip|recommendation)s?
`)

export const suppositions = phrases(String.raw`
  hypothetical(?:ly)? / allegedly / supposedly / what if / as if / if only / in theory / let's say / let us say / say I / suppose / supposing
  assuming / imagine / unless / in case / were to / wish(?:es|ed)? / might / maybe / perhaps / possibly / could have
  should have / would have / not sure (?:if|whether|that) / considering whether / thinking (?:of|about)
  dream(?:ed|t) (?:that|I) / in (?:my|the|a|his|her) (?:dreams?|imagination) / in (?:another|a past|my next) life / (?:parallel|alternate) (?:universe|reality)
  I am (?:basically|literally|practically|legally an?) / like I am an?
`)

/** Deny a statement, or all but deny it. */
export const negators = phrases(String.raw`
  not / never / no longer / no / neither / nor / none / nothing / nobody / no one / nowhere / without / hardly / scarcely / barely / seldom
  rarely / few(?<!\ba few) / little(?= (?:of|about|interest|to)\b) / anything but / far from / yet to / failed to / almost / nearly / by no means / as (?:much|little) as
`)

/** Of a state that has ended. */
export const endings = phrases(String.raw`
  used to / (?:is|are|has|have) gone(?=\W*$) / no longer / any ?more / not .{1,40} any longer / (?:is|are|am) (?:over|done with) / has ended / ended / came to an end
  (?:I|we|he|she|they|have|has|had|just|recently) (?:quit|left|resigned|retired|stopped|dropped out|gave up|given up|gave notice|lost|sold)
  (?:I|we|he|she|they|have|has|had|just|recently) (?:got rid of|cancelled|broke up|split up|separated|divorced|moved out|parted ways|deleted)
  (?:am|is|are|was|were|got|been|being) (?:laid off|fired|let go|made redundant|dismissed|divorced|dumped|kicked out|evicted|single again)
  laid (?:me|him|her|us) off / fired (?:me|him|her|us) / let (?:me|him|her|us) go / dumped (?:me|him|her) / passed away / died / former(?:ly)? / back then / grew out of / gone off / went off
  ^(?:just |finally |officially )?(?:quit|resigned|retired|dropped out|gave up|split up|divorced)(?! (?:is|was)\b)
  (?:got|was|were|been|is|are) (?:stolen|totall?ed|wrecked|scrapped|written off|destroyed|repossessed) / (?:I|we) (?:totall?ed|wrecked|outgrew|(?:have |had )?outgrown)
  (?:last|final) day at / until (?:\w+ )?(?:last|\d{4}|recently|\p{Lu}\p{Ll}+) / once (?:lived|worked|was|had|owned|spoke|played|liked|loved)
`)

/** Past forms of verbs of states. */
export const pastStates = phrases(String.raw`
  was / were / had / lived / worked / owned / studied / spoke / drove / loved / liked / hated / enjoyed / preferred / belonged / taught / drank / wanted / played
`)
