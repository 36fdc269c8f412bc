/** Words by which a sentence is cut into clauses (Clauses.ts). */
import { phrases, wordSet } from "../../text/wordSet.ts"

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
