/**
 * One payment chain over the nodes of a network. A call is asked of one node as a whole, of the next one if that is not
 * available, in the order of `ChainNodes`.
 *
 * Invariant: where there are several, what cannot be undone (a payment that never came, a payment that is final) needs
 * two nodes that say so; while the others do not answer or say something else, the payment stays as it is.
 */
import { Effect } from "effect"
import {
  type ChainHealth,
  type ChainUnavailable,
  type ChainView,
  isChainUnavailable,
  type PaymentChain,
  type NodeStatus
} from "./PaymentChain.ts"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"

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

/** A payment chain by one node. `name`: the host of its URL. */
interface ChainNode {
  readonly name: string
  readonly chain: PaymentChain
}

interface Watched extends ChainNode {
  isReachable: boolean
  block: number | undefined
  failures: number
}

/** About half a minute: farther behind, a node has lost the network. */
const blocksBehindMax = { evm: 15, svm: 75 }

/**
 * The nodes of one network: which of them answer, how far each of them is, and in which order they are asked. A node
 * that is away, or behind the others, is asked when no better one answers.
 */
class ChainNodes {
  readonly #nodes: ReadonlyArray<Watched>
  readonly #blocksBehindMax: number
  /** The one that answered last. */
  #last: Watched | undefined

  constructor(network: PaymentNetwork, nodes: ReadonlyArray<ChainNode>) {
    this.#nodes = nodes.map((node) => ({ ...node, isReachable: true, block: undefined, failures: 0 }))
    this.#blocksBehindMax = blocksBehindMax[paymentNetworks[network].family]
  }

  /** The best first; among equals the one that answered last, then as they are configured. */
  get ranked(): ReadonlyArray<PaymentChain> {
    const faults = (node: Watched): number =>
      (node.isReachable ? 0 : 4) +
      (this.#blocksBehind(node) > this.#blocksBehindMax ? 2 : 0) +
      (node === this.#last ? 0 : 1)
    return this.#nodes.toSorted((a, b) => faults(a) - faults(b)).map(({ chain }) => chain)
  }

  get statuses(): ReadonlyArray<NodeStatus> {
    return this.#nodes.map((node) => ({
      name: node.name,
      isReachable: node.isReachable,
      block: node.block,
      blocksBehind: this.#blocksBehind(node),
      isBehind: this.#blocksBehind(node) > this.#blocksBehindMax,
      failures: node.failures
    }))
  }

  answered(chain: PaymentChain): void {
    this.#last = this.#nodes.find((node) => node.chain === chain)
    if (this.#last !== undefined) this.#last.isReachable = true
  }

  failed(chain: PaymentChain): void {
    for (const node of this.#nodes) {
      if (node.chain !== chain) continue
      node.isReachable = false
      node.failures++
    }
  }

  /** The newest block that a node knows. */
  seen(chain: PaymentChain, block: number): void {
    for (const node of this.#nodes) {
      if (node.chain !== chain) continue
      node.isReachable = true
      node.block = block
    }
  }

  #blocksBehind({ block }: Watched): number {
    const newest = Math.max(...this.#nodes.map((node) => node.block ?? 0))
    return block === undefined ? 0 : newest - block
  }
}
