/** Words by which a sentence is cut into clauses (Clauses.ts). */
import { phrases, wordSet } from "./wordSet.ts"

/** Begin a time or a place that stands before the subject. */
export const settings = wordSet(`
  yesterday today tonight tomorrow last next this in on at for since during before after until when while once from every each
  two three four five a one monday tuesday wednesday thursday friday saturday sunday back around earlier later by as whenever
`)

/** Before a subject: what follows belongs to a noun or a question. */
export const dependents = wordSet(`
  that which what who whom where how why thing things one time way reason because if unless whether as than like everything something
  place
`)

/** Past forms that the tagger takes for others. */
export const pastForms = wordSet(`
  was were had did got went came left met put cut read hit hurt let quit sent spent built lost won bought sold ran flew drove ate took
  saw gave made found told said felt kept broke fell began wrote
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

/** Behind a fact: what follows says why or how, or is talk. */
export const factEnds = phrases(String.raw`
  because / cause / cuz / for example / although / though / which / so (?!far|that) / but / since I / as I / if / unless / hopefully / obviously
  apparently / thank god / thankfully / luckily / sadly / not that / in case / I think / I guess / you know / if you / to be honest / honestly
`)
