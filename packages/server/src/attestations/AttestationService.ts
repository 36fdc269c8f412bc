/**
 * Signed claims about memories (contract: Attestations): on demand about the caller's own, and with every search
 * result about the source of shared ones.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { CreateAttestation, SourceAttestation } from "@muniment/domain/Attestation"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { Identity } from "@muniment/domain/Identity"
import { traced } from "@muniment/domain/traced"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import {
  attestationAlgorithm,
  attestationValidDaysMax,
  attestationValidSeconds,
  claimParams,
  makeAttestation,
  namespaceHash,
  sharedMemoriesClaim,
  sharedMemoriesParams,
  type SignedAttestation
} from "@muniment/trust/Attestation"
import { KeyRing } from "@muniment/trust/KeyRing"
import { requireUnbound } from "../identity/KeyScopes.ts"
import { MemoryService } from "../memories/MemoryService.ts"

/** Returned memories of one grantor, in the order of the results. */
export interface SharedSource {
  readonly grantor: string
  /** Account of the grantor. */
  readonly account: string
  readonly contentHashes: ReadonlyArray<string>
}

interface IssuedAttestation extends SignedAttestation {
  readonly publicKey: string
  readonly algorithm: typeof attestationAlgorithm
}

export class AttestationService extends Context.Service<
  AttestationService,
  {
    readonly attest: (
      call: PricedCall,
      request: CreateAttestation
    ) => Effect.Effect<IssuedAttestation, InvalidRequest | ChargeFailure>
    /** Source attestations by grantor, spelled as in the grant. */
    readonly vouchFor: (
      sources: ReadonlyArray<SharedSource>
    ) => Effect.Effect<Readonly<Record<string, SourceAttestation>>>
  }
>()("muniment/server/AttestationService") {
  static readonly layer = (options: { readonly serviceName: string; readonly issuer: string }) =>
    Layer.effect(this, make(options))
}

const make = Effect.fnUntraced(function* (options: { readonly serviceName: string; readonly issuer: string }) {
  const keys = yield* KeyRing
  const memories = yield* MemoryService
  const registry = yield* SchemaRegistry

  const count = (caller: Identity, request: CreateAttestation) => {
    switch (request.claim) {
      case "has_memories_matching":
        return memories.countRelevant(caller, (request.query ?? "").trim(), request.filters ?? {})
      case "memory_count_gte":
        return memories.count(caller, { ...request.filters, ...notMessages(request.filters?.kind) })
      case "has_schema":
        return Effect.map(registry.find(caller.account.id, request.schemaName ?? ""), (schema) =>
          schema === undefined ? 0 : 1
        )
    }
  }

  const sign = (account: string, claim: string, params: SignedAttestation["attestation"]["params"], result: Result) =>
    Effect.map(Clock.currentTimeMillis, (nowMillis) =>
      keys.sign(
        makeAttestation({
          claim,
          params,
          result: { ...result.counted, namespace: namespaceHash(options.serviceName, account) },
          nowMillis,
          validSeconds: result.validSeconds,
          issuer: options.issuer
        })
      )
    )

  const attest = traced("AttestationService.attest")(function* (call: PricedCall, request: CreateAttestation) {
    yield* requireUnbound(call.caller)
    const account = call.caller.account.id
    const validSeconds = attestationValidSeconds(request.expiresIn)
    if (validSeconds === undefined) {
      return yield* new InvalidRequest({
        code: "invalid_duration",
        error: `expiresIn is at most ${attestationValidDaysMax} days`
      })
    }
    yield* call.reserve()
    const matchCount = yield* count(call.caller, request)
    const satisfied = matchCount >= (request.claim === "memory_count_gte" ? (request.threshold ?? 0) : 1)
    const signed = yield* sign(account, request.claim, claimParams(request), {
      counted: { satisfied, matchCount },
      validSeconds
    })
    return { ...signed, algorithm: attestationAlgorithm } satisfies IssuedAttestation
  })

  const vouchFor = traced("AttestationService.vouchFor")(function* (sources: ReadonlyArray<SharedSource>) {
    const vouched: Record<string, SourceAttestation> = {}
    for (const { account, contentHashes, grantor } of sources) {
      const params = sharedMemoriesParams(grantor, contentHashes)
      const { attestation, signature } = yield* sign(account, sharedMemoriesClaim, params, {
        counted: { satisfied: true, matchCount: contentHashes.length },
        validSeconds: attestationValidSeconds() ?? 0
      })
      vouched[grantor] = { attestation, signature }
    }
    return vouched
  })

  return { attest, vouchFor }
})

/** A chat of small talk is no knowledge: messages count where their kind is asked for. */
const notMessages = (kind: string | undefined) => (kind === undefined ? ({ include: "extracted" } as const) : {})

interface Result {
  readonly counted: { readonly satisfied: boolean; readonly matchCount: number }
  readonly validSeconds: number
}
