/**
 * Words that say how a question is asked and not what it is about: removed from queries only (a
 * document keeps them, so that a query made of nothing else still finds its text). Folded and
 * unstemmed. Month and modal "may" is left out because it is a date far more often than a verb here.
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
