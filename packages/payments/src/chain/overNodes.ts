/**
 * One payment chain over several nodes of a network. A call is asked of one node as a whole, of the next one if that is
 * not available; the node that answered last is asked first.
 *
 * Invariant: what cannot be undone (a payment that never came, a payment that is final) needs two nodes that say so;
 * while the others do not answer or say something else, the payment stays as it is.
 */
import { Effect } from "effect"
import { type ChainUnavailable, type ChainView, type PaymentChain } from "./PaymentChain.ts"

/** `nodes`: the same network, payee and operator by different nodes; at least one. */
export const overNodes = (nodes: readonly [PaymentChain, ...ReadonlyArray<PaymentChain>]): PaymentChain => {
  const [first, ...others] = nodes
  if (others.length === 0) return first
  let last = first

  const asked = <A, E>(call: (node: PaymentChain) => Effect.Effect<A, E | ChainUnavailable>) => {
    const from = (node: PaymentChain, left: ReadonlyArray<PaymentChain>): Effect.Effect<A, E | ChainUnavailable> =>
      call(node).pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            last = node
          })
        ),
        Effect.catchIf(isUnavailable, (failure) => {
          const [next, ...rest] = left
          return next === undefined ? Effect.fail(failure as E | ChainUnavailable) : from(next, rest)
        })
      )
    return Effect.suspend(() => from(last, othersThan(nodes, last)))
  }

  const look: PaymentChain["look"] = Effect.fnUntraced(function* (claim, transaction, units) {
    const view = yield* asked((node) => node.look(claim, transaction, units))
    if (!isDecision(view)) return view
    for (const node of othersThan(nodes, last)) {
      const second = yield* Effect.option(node.look(claim, transaction, units))
      if (second._tag === "Some") return agreed(view, second.value)
    }
    return undecided(view)
  })

  return {
    ...first,
    ...(first.health !== undefined && { health: asked((node) => node.health ?? Effect.die(noHealth)) }),
    verify: (claim, units, options) => asked((node) => node.verify(claim, units, options)),
    sign: (claim, previous) => asked((node) => node.sign(claim, previous)),
    broadcast: (claim, transaction) => asked((node) => node.broadcast(claim, transaction)),
    look
  }
}

const noHealth = new Error("a node without health")

const othersThan = (nodes: ReadonlyArray<PaymentChain>, node: PaymentChain) => nodes.filter((other) => other !== node)

const isUnavailable = (error: unknown): error is ChainUnavailable =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "ChainUnavailable"

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
