/** Words by which a sentence is cut into clauses (Clauses.ts). */
import { wordSet } from "./wordSet.ts"

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
