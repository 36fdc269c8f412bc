/**
 * Report that a node is ready: at its first term or when it first hands callers to another node; later again only with
 * what must not be lost. The operator's first key is shown once, and the node that makes it may have been ready before:
 * the first owner of a new cluster can end before it makes the key.
 */
import { Effect } from "effect"

/** -> for each term its report, for each hand-over nothing. */
export const reportReady = <A>(
  onReady: (report: A | undefined) => Effect.Effect<void>,
  mustBeShown: (report: A) => boolean
): ((report: A | undefined) => Effect.Effect<void>) => {
  let isReady = false
  return (report) =>
    Effect.suspend(() => {
      if (isReady && (report === undefined || !mustBeShown(report))) return Effect.void
      isReady = true
      return onReady(report)
    })
}
