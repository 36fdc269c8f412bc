/**
 * Namespaces of others that a caller's grants open (contract: Grants), each with the scopes that limit it, and the
 * revocation of grants. The engine applies a scope inside its own filter, so a hidden memory has no
 * part in ranking or statistics.
 *
 * Invariants: an unusable grant opens nothing and is reported with its reason; grants of one grantor unite; a grant
 * opens search only, never reads by id or changes, and latest versions only, unless it says `h`.
 */
import { Clock, Context, Effect, Layer, Result } from "effect"
import type { Identity } from "@muniment/domain/Identity"
import { Forbidden, InvalidRequest, type RateLimited } from "@muniment/domain/Errors"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { whyNoGrantExpiry } from "@muniment/domain/GivenTimes"
import {
  type Grant,
  type GrantPayload,
  type UnusableGrant,
  type UnusableReason,
  unusableReasons
} from "@muniment/domain/Grant"
import type { MemoryFilter } from "@muniment/domain/Search"
import { traced } from "@muniment/domain/traced"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { GrantRevocations } from "@muniment/control/accounts/GrantRevocations"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { checkGrants, grantId, isGrantor, type CheckedGrant } from "@muniment/trust/Grant"
import { decodeGrantsHeader } from "@muniment/trust/GrantEnvelope"
import { type Audience, SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { isBound, requireWholeAccount } from "../identity/KeyScopes.ts"

export interface SharedNamespace {
  readonly key: NamespaceKey
  /** Spelled as in the grant that opened it first. */
  readonly grantor: string
  /** Account of the grantor. */
  readonly account: string
  /** A memory is seen when one of them lets it through. */
  readonly scopes: ReadonlyArray<MemoryFilter>
}

export interface OpenedGrants {
  /** Grants in the header, usable or not. */
  readonly grantCount: number
  readonly namespaces: ReadonlyArray<SharedNamespace>
  /** Grants that opened nothing. */
  readonly unusable: ReadonlyArray<UnusableGrant>
}

interface SharedAccessOptions {
  readonly grantPrefixes: ReadonlyArray<string>
  readonly audience: Audience
}

export class SharedAccess extends Context.Service<
  SharedAccess,
  {
    /** Memories that the grants of an `X-Grants` header open to the caller now. */
    readonly opened: (caller: Identity, header: string) => Effect.Effect<OpenedGrants, InvalidRequest>
    /** Takes a grant back; only its grantor may. */
    readonly revoke: (
      caller: Identity,
      grant: Grant
    ) => Effect.Effect<void, Forbidden | InvalidRequest | RateLimited | ControlFailure>
  }
>()("muniment/server/SharedAccess") {
  static readonly layer = (options: SharedAccessOptions) => Layer.effect(this, make(options))
}

const make = Effect.fnUntraced(function* ({ audience, grantPrefixes: prefixes }: SharedAccessOptions) {
  const verifier = yield* SignatureVerifier
  const revocations = yield* GrantRevocations
  const directory = yield* NamespaceDirectory
  const wallets = yield* Wallets

  /** Every name by which a grant may address the caller. */
  const identitiesOf = Effect.fnUntraced(function* ({ account, keyId, walletAddress }: Identity) {
    const linked = yield* wallets.addressesOf(account.id)
    return [account.id, ...linked, ...[keyId, walletAddress].filter((name) => name !== undefined)]
  })

  const opened = traced("SharedAccess.opened")(function* (caller: Identity, header: string) {
    const decoded = decodeGrantsHeader(header)
    if (Result.isFailure(decoded)) {
      const { code, error } = decoded.failure
      return yield* new InvalidRequest({ code, error })
    }
    const checked = yield* checkGrants(decoded.success, {
      identities: yield* identitiesOf(caller),
      prefixes,
      audience,
      isRevoked: revocations.isRevoked
    }).pipe(Effect.provideService(SignatureVerifier, verifier))
    const namespaces = new Map<string, SharedNamespace>()
    const unusable: Array<UnusableGrant> = []
    for (const [index, grant] of checked.entries()) {
      const { reason, why } =
        grant._tag === "Unusable"
          ? grant
          : {
              reason: isBound(caller) ? "bound_key" : yield* open(directory, wallets, grant, caller, namespaces),
              why: undefined
            }
      if (reason === undefined) continue
      const grantor = decoded.success[index]?.p.f
      const message = why ?? unusableReasons[reason]
      unusable.push({ index, ...(grantor !== undefined && { grantor }), reason, message })
    }
    return { grantCount: decoded.success.length, namespaces: [...namespaces.values()], unusable }
  })

  const revoke = traced("SharedAccess.revoke")(function* (caller: Identity, { p }: Grant) {
    yield* requireWholeAccount(caller)
    if (!isGrantor(p, yield* identitiesOf(caller))) {
      return yield* new Forbidden({ code: "not_grantor", error: "only its grantor can revoke a grant" })
    }
    yield* requireRevocable(p)
    yield* caller.newcomer?.open("free") ?? Effect.void
    yield* revocations.revoke(grantId(p), caller.account.id, p.e)
  })

  return { opened, revoke }
})

/** Undefined, or why the grant opens nothing. */
const open = Effect.fnUntraced(function* (
  directory: NamespaceDirectory["Service"],
  wallets: Wallets["Service"],
  { grantor, payload }: Extract<CheckedGrant, { readonly _tag: "Usable" }>,
  caller: Identity,
  namespaces: Map<string, SharedNamespace>
): Effect.fn.Return<UnusableReason | undefined> {
  const owner = yield* wallets.accountOf(grantor.address)
  if (owner === undefined || owner.suspendedAt !== undefined) return "no_account"
  // These memories are searched as the caller's own.
  if (owner.id === caller.account.id) return "self_grant"
  const scope: MemoryFilter = { subjectId: payload.u, includeSuperseded: payload.h === true }
  for (const key of directory.list(owner.id)) {
    if (payload.a !== undefined && key.agentId !== payload.a) continue
    const known = namespaces.get(key.tag)
    namespaces.set(key.tag, {
      key,
      grantor: known?.grantor ?? payload.f,
      account: owner.id,
      scopes: [...(known?.scopes ?? []), scope]
    })
  }
  return undefined
})

/** A revocation is kept until the grant would have ended. */
const requireRevocable = Effect.fnUntraced(function* ({ e }: GrantPayload) {
  const why = e > 0 ? whyNoGrantExpiry(e, yield* Clock.currentTimeMillis) : undefined
  if (why === undefined) return
  const message = `${why}; such a grant opens nothing`
  const details = [{ path: "/grant/p/e", message }]
  return yield* new InvalidRequest({ code: "invalid_expiry", error: `/grant/p/e: ${message}`, details })
})
