/**
 * One payment chain over the nodes of a network. A call is asked of one node as a whole, of the next one if that is not
 * available, in the order of `ChainNodes.ts`.
 *
 * Invariant: where there are several, what cannot be undone (a payment that never came, a payment that is final) needs
 * two nodes that say so; while the others do not answer or say something else, the payment stays as it is.
 */
import { Effect } from "effect"
import { type ChainNode, ChainNodes } from "./ChainNodes.ts"
import {
  type ChainHealth,
  type ChainUnavailable,
  type ChainView,
  isChainUnavailable,
  type PaymentChain
} from "./PaymentChain.ts"

/** `given`: the same network, payee and operator by different nodes; at least one. */
export const overNodes = (given: readonly [ChainNode, ...ReadonlyArray<ChainNode>]): PaymentChain => {
  const [{ chain: first }] = given
  const nodes = new ChainNodes(first.network, given)

  const asked = <A, E>(call: (node: PaymentChain) => Effect.Effect<A, E | ChainUnavailable>) => {
    const from = (
      node: PaymentChain,
      left: ReadonlyArray<PaymentChain>
    ): Effect.Effect<readonly [A, PaymentChain], E | ChainUnavailable> =>
      call(node).pipe(
        Effect.map((answer) => {
          nodes.answered(node)
          return [answer, node] as const
        }),
        Effect.catchIf(isChainUnavailable, (failure) => {
          nodes.failed(node)
          const [next, ...rest] = left
          return next === undefined ? Effect.fail(failure as E | ChainUnavailable) : from(next, rest)
        })
      )
    return Effect.suspend(() => {
      const [best = first, ...others] = nodes.ranked
      return from(best, others)
    })
  }
  const answer = <A, E>(call: (node: PaymentChain) => Effect.Effect<A, E | ChainUnavailable>) =>
    Effect.map(asked(call), ([value]) => value)

  const look: PaymentChain["look"] = Effect.fnUntraced(function* (claim, transaction, units) {
    const [view, by] = yield* asked((node) => node.look(claim, transaction, units))
    if (!isDecision(view) || given.length === 1) return view
    for (const node of nodes.ranked) {
      if (node === by) continue
      const second = yield* Effect.option(node.look(claim, transaction, units))
      if (second._tag === "Some") return agreed(view, second.value)
    }
    return undecided(view)
  })

  return {
    ...first,
    ...(first.health !== undefined && { health: healthOver(given, nodes), nodes: () => nodes.statuses }),
    verify: (claim, units, options) => answer((node) => node.verify(claim, units, options)),
    sign: (claim, previous) => answer((node) => node.sign(claim, previous)),
    broadcast: (claim, transaction) => answer((node) => node.broadcast(claim, transaction)),
    look
  }
}

/** Asks all, and answers as the best of them. */
const healthOver = (given: ReadonlyArray<ChainNode>, nodes: ChainNodes): Effect.Effect<ChainHealth, ChainUnavailable> =>
  Effect.gen(function* () {
    const seen = new Map<PaymentChain, ChainHealth>()
    let failure: ChainUnavailable | undefined
    yield* Effect.forEach(
      given,
      ({ chain }) =>
        Effect.match(chain.health ?? Effect.die(noHealth), {
          onSuccess: (found) => {
            seen.set(chain, found)
            nodes.seen(chain, found.block)
          },
          onFailure: (unavailable) => {
            failure ??= unavailable
            nodes.failed(chain)
          }
        }),
      { concurrency: "unbounded", discard: true }
    )
    const best = nodes.ranked.find((chain) => seen.has(chain))
    return best === undefined ? yield* failure ?? Effect.die(noHealth) : seen.get(best)!
  })

const noHealth = new Error("a node without health")

const isDecision = (view: ChainView): boolean => view._tag === "Never" || (view._tag === "Paid" && view.isFinal)

/** One node alone decides nothing: paid is not final yet, and never is not known yet. */
const undecided = (view: ChainView): ChainView =>
  view._tag === "Paid" ? { ...view, isFinal: false } : { _tag: "Unpaid", next: "wait" }

const agreed = (view: ChainView, second: ChainView): ChainView => {
  if (view._tag === "Paid") return second._tag === "Paid" && second.isFinal ? view : undecided(view)
  if (second._tag === "Never") return view
  // The other node has the money.
  return second._tag === "Paid" ? undecided(second) : undecided(view)
}
