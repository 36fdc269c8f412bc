/**
 * Watches whether each network can take payments: its node is asked every `Limits.networkWatchMillis`, sooner while
 * something is wrong. A network is not offered while its operator cannot pay the fees, nor after its node has been away
 * for `Limits.networkAwayMillis`; payments under way are followed all the same.
 */
import { Clock, Effect, type Scope } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import { Rounds } from "@muniment/worker/Rounds"
import type { ChainHealth, NodeStatus, PaymentChain } from "../chain/PaymentChain.ts"

export interface NetworkStatus {
  readonly network: PaymentNetwork
  /** False while the node does not answer; true before the first answer, and without a node of ours. */
  readonly isReachable: boolean
  /** False: not in demands. */
  readonly isOffered: boolean
  /** The last that the node said; undefined if it never did. */
  readonly health: ChainHealth | undefined
  /** Of ours, in the order of the configuration. */
  readonly nodes: ReadonlyArray<NodeStatus>
}

interface Watched {
  health: ChainHealth | undefined
  /** Since when the node does not answer. */
  awaySince: number | undefined
}

export class NetworkWatch {
  readonly #chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  readonly #watched = new Map<PaymentNetwork, Watched>()

  constructor(chains: ReadonlyMap<PaymentNetwork, PaymentChain>) {
    this.#chains = chains
    for (const network of chains.keys()) this.#watched.set(network, { health: undefined, awaySince: undefined })
  }

  /** Asks each node from now on, while the scope lives. */
  get run(): Effect.Effect<void, never, Scope.Scope> {
    return Effect.forEach(this.#chains.values(), (chain) => this.#follow(chain), { discard: true })
  }

  /** One look at each node; at once. */
  get look(): Effect.Effect<void> {
    return Effect.forEach(this.#chains.values(), (chain) => this.#ask(chain), {
      discard: true,
      concurrency: "unbounded"
    })
  }

  statuses(nowMillis: number): ReadonlyArray<NetworkStatus> {
    return [...this.#watched].map(([network, { awaySince, health }]) => ({
      network,
      isReachable: awaySince === undefined,
      isOffered:
        health?.isFunded !== false && (awaySince === undefined || nowMillis - awaySince < Limits.networkAwayMillis),
      health,
      nodes: this.#chains.get(network)?.nodes?.() ?? []
    }))
  }

  #follow(chain: PaymentChain): Effect.Effect<void, never, Scope.Scope> {
    let isWell = true
    return Rounds.whenWoken({
      name: "looks at networks of payments",
      until: Effect.suspend(() => Effect.sleep(isWell ? Limits.networkWatchMillis : Limits.networkRetryMillis)),
      work: Effect.map(this.#ask(chain), (answer) => void (isWell = answer)),
      isFirstNow: true
    })
  }

  /** True if nothing is wrong. */
  #ask({ health, network }: PaymentChain): Effect.Effect<boolean> {
    const watched = this.#watched.get(network)
    if (health === undefined || watched === undefined) return Effect.succeed(true)
    return Effect.matchEffect(health, {
      onSuccess: (seen) => {
        const isNews = seen.isFunded !== (watched.health?.isFunded ?? true)
        watched.health = seen
        watched.awaySince = undefined
        const funded = seen.isFunded ? "has enough again" : "does not have enough"
        const told = isNews
          ? Effect.logWarning(`the operator's wallet ${funded} for the fees of payments`, { network })
          : Effect.void
        return Effect.as(told, seen.isFunded)
      },
      onFailure: () =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          watched.awaySince ??= now
          return false
        })
    })
  }
}
