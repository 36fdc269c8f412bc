/** Alternatives of the patterns by which words, clauses and dates are read: parts of regular expressions. */
import { oneOf, phrases, wordSet } from "@muniment/language/text/OneOf"

export const adverbForms = phrases(String.raw`
  also / really / absolutely / just / currently / now / still / actually / totally / definitely / truly / honestly
  recently / finally / already / usually / normally / generally / mostly / mainly / especially / particularly
  sometimes / often / simply / pretty / quite / very / so / super / both / all / kinda / sorta / officially
  basically / proudly / happily / sadly / unfortunately / personally / literally / genuinely / primarily / presently
  then / too / originally / only / always
`)

/** Behind a statement. */
export const afterthoughts = phrases(String.raw`
  lately / recently / any ?more / any longer / now / right now / these days / nowadays / as well / too / though / tbh / by the way / btw / actually / obviously
  of course / currently / at the moment / so far / a?haha / lol / ugh / yay / phew / typo / no kids / feeling \w+
  (?:so|and) (?:fine|yeah|yes|no|that is that)
`)

export const noNames = phrases(String.raw`
  the / my / our / we / he / she / it / they / this / that / there / these / those / what / when / where / who / how
  why / in / on / at / if / so / but / and / or / as / for / with / yes / no / not / is / was / are / do / a / an
  today / tomorrow / yesterday / quotation / also / just / please / because / after / before / since / while / then
  now / one / two / both / all / some / every / maybe / here / well
`)

export const verbForms = phrases(String.raw`
  am / is / are / was / were / have / has / had / do / does / did / will / can / live / lives / love / loves / like
  likes / hate / hates / work / works / study / studies / play / plays / speak / speaks / own / owns / want / wants
  need / needs / prefer / prefers / enjoy / enjoys / teach / teaches / run / runs / use / uses / drive / drives
  collect / collects / moved / quit / got / bought / started / turned / turns / used / left / goes / eats / drinks
  never / avoid / avoids / just / recently / also / always / usually / now / still / currently / really / absolutely
  would / graduated / adore / adores / dislike / dislikes / sold / visited / visits / plan / plans / retired / died
  passed / joined / finished / met / loved / hated
`)

export const elidedVerbs = phrases(String.raw`
  moved / got / bought / started / graduated / quit / adopted / sold / finished / joined / born / working / living
  allergic / training / learning / studying / based / married / divorced / retired / picked up / trying to learn
  hate / prefer / grew up / been
`)

export const noRelatives = phrases(String.raw`
  I / The / She / He / It / They / This / That / There
  English / German / French / Spanish / Italian / Chinese / Japanese / Indian / American / British / Canadian
  Christian / Muslim / Jewish / Catholic
`)

export const offers = phrases(String.raw`
  want / need / mean / think / know / have (?:any|a) (?:questions?|idea|time|minute) / sure / ready
  still (?:there|with) / looking / asking / trying / saying / able / okay / ok\b / there / see / remember
`)

export const statementStarts = phrases(String.raw`
  just / recently / finally / moved / got / bought / started / graduated / quit / adopted / sold / born / working
  living / allergic / based / married / love / hate / enjoy / prefer / retired / been / learning / studying / training
  the\s / there is\s
`)

export const technicalWords = phrases(String.raw`
  for loops? / arrays? / functions? / scripts? / datasets? / columns? / variables? / timeouts? / errors? / exceptions?
  endpoints? / api / json / csv / regex / npm / query / queries / commands? / parameters? / log files? / stack ?trace
  pull requests?
`)

/** About a program or data at hand, not about a person. */
export const technical = oneOf(technicalWords, { before: String.raw`\b`, after: String.raw`\b`, flags: "i" })

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

/** Behind a fact: what follows says why or how, or is talk. */
export const factEnds = phrases(String.raw`
  because / cause / cuz / for example / although / though / which / so (?!far|that) / but / since I / as I / if / unless / hopefully / obviously
  apparently / thank god / thankfully / luckily / sadly / not that / in case / I think / I guess / you know / if you / to be honest / honestly
`)
