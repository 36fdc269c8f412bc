/**
 * The nodes of one network: which of them answer, how far each of them is, and in which order they are asked. A node
 * that is away, or behind the others, is asked when no better one answers.
 */
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import type { NodeStatus, PaymentChain } from "./PaymentChain.ts"

/** A payment chain by one node. `name`: the host of its URL. */
export interface ChainNode {
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

export class ChainNodes {
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
