/**
 * Stop words, removed from queries only: documents keep them, so that a query of stop words alone still matches.
 * Folded and unstemmed. "may" is not among them, because in memories it is a month far more often than a verb.
 */
export const stopWords: ReadonlySet<string> = new Set(
  (
    "a about above after again against all also am an and any are as at be because been before being below between " +
    "both but by can could did do does doing don down during each else ever few for from further get gets got had has " +
    "have having he her here hers herself him himself his how i if in into is isn it its itself just let like ll m me " +
    "might mine more most must my myself no nor not now of off on once one only or other our ours ourselves out over " +
    "own please re s same shall she should so some such t tell than that the their theirs them themselves then there " +
    "these they this those through to too under until up upon us ve very was we were what whats when where which while " +
    "who whom whose why will with would you your yours yourself yourselves"
  ).split(" ")
)
