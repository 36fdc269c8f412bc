/**
 * The input of `attest verify`: an answer of `POST /attestations`, a signed attestation alone, or an answer of a
 * shared search with its `sourceAttestations`. Pure, so that every verdict can be tested.
 *
 * Invariant: the text is inspected before it is parsed; a text that two parsers could read differently (a duplicate
 * key, a number too large) is refused.
 */
import { Result, Schema } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { Attestation } from "@muniment/domain/Attestation"
import {
  sharedMemoriesClaim,
  type VerificationFault,
  type VerificationKey,
  verifyAttestation
} from "@muniment/trust/Attestation"
import { contentHash, NotCanonical } from "@muniment/trust/CanonicalJson"
import { inspectJson } from "@muniment/trust/JsonText"
import { timeText, shownText } from "./Terminal.ts"

const Signed = Schema.Struct({ attestation: Schema.Unknown, signature: Schema.String })

const SharedMemory = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  data: Schema.Unknown,
  grantor: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Schema.Struct({ agentId: Schema.optionalKey(Schema.String) }))
})
type SharedMemory = typeof SharedMemory.Type

const AttestAnswer = Schema.Struct({ ...Signed.fields, publicKey: Schema.optionalKey(Schema.String) })
const SearchAnswer = Schema.Struct({
  sourceAttestations: Schema.Record(Schema.String, Signed),
  memories: Schema.optionalKey(Schema.Array(SharedMemory)),
  results: Schema.optionalKey(Schema.Array(Schema.Struct({ memories: Schema.Array(SharedMemory) })))
})

/** An attestation with its signature, and what else the file says about it. */
export interface Statement {
  readonly attestation: unknown
  readonly signature: string
  /** The key in the file itself; it does not prove who signed. */
  readonly publicKey?: string | undefined
  /** Source of a source attestation: whose memories, and those that the answer shows. */
  readonly source?: { readonly grantor: string; readonly memories: ReadonlyArray<SharedMemory> }
}

interface Verdict {
  readonly valid: boolean
  /** For the terminal: what is attested, or why it is not valid. */
  readonly text: string
}

/** The attestations of a file, at least one; or why there are none. */
export const statementsOf = (text: string): Result.Result<ReadonlyArray<Statement>, string> => {
  const finding = inspectJson(text, { depthMax: Limits.jsonDepthMax })
  if (finding !== undefined) {
    return Result.fail(`it can be read in two ways (${finding.reason} at "${shownText(finding.path)}")`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return Result.fail("it is not JSON")
  }
  if (isAttestAnswer(value)) return Result.succeed([value])
  if (!isSearchAnswer(value))
    return Result.fail("it holds neither an attestation with its signature nor sourceAttestations")
  const memories = [...(value.memories ?? []), ...(value.results ?? []).flatMap((result) => result.memories)]
  const statements = Object.entries(value.sourceAttestations).map(([grantor, signed]) => ({
    ...signed,
    source: { grantor, memories: memories.filter((memory) => memory.grantor === grantor) }
  }))
  return statements.length === 0 ? Result.fail("its sourceAttestations are empty") : Result.succeed(statements)
}

/** With the first of `keys` that signed; `nowSeconds` decides about expiry. */
export const verdictOf = (statement: Statement, keys: ReadonlyArray<VerificationKey>, nowSeconds: number): Verdict => {
  const verifications = keys.map((key) => verifyAttestation(statement, key, nowSeconds))
  const decisive =
    verifications.find((each) => each.valid || isOutdated(each.reason)) ??
    verifications.find((each) => !each.valid && each.reason !== "bad_signature") ??
    verifications[0]
  if (decisive === undefined) return { valid: false, text: "there is no key to verify it with" }
  if (!decisive.valid) return { valid: false, text: faults[decisive.reason] }
  // Verification has looked at its form.
  const attestation = statement.attestation as Attestation
  const fault = sourceFault(attestation, statement.source)
  return fault === undefined ? { valid: true, text: summary(attestation) } : { valid: false, text: fault }
}

/** The key signed, and it no longer counts. */
const isOutdated = (reason: VerificationFault): boolean =>
  reason === "expired" || reason === "retired_key" || reason === "revoked_key"

const faults = {
  malformed_public_key: "the public key is not 0x and 64 hex digits",
  malformed_signature: "the signature is not 0x and 128 hex digits",
  malformed_attestation: "the attestation lacks a field, or cannot be written as canonical JSON",
  bad_signature: "the signature is not by this key over this attestation: it was altered, or another signed it",
  retired_key: "it is dated after the end of the key that signed it",
  revoked_key: "the key that signed it was revoked",
  expired: "it has expired"
} as const

/** A source attestation beside memories must be about exactly those, in their order. */
const sourceFault = ({ claim, params }: Attestation, source: Statement["source"]): string | undefined => {
  if (source === undefined) return undefined
  if (claim !== sharedMemoriesClaim || params["grantor"] !== source.grantor) {
    return `it is not about memories of ${shownText(source.grantor)}`
  }
  const unique = [...new Map(source.memories.map((memory) => [memory.id, memory])).values()]
  const hashes = unique.map(hashOf)
  return JSON.stringify(params["memoryHashes"]) === JSON.stringify(hashes)
    ? undefined
    : "the memories beside it are not those it speaks of"
}

/** Computed from the memory itself; `metadata.contentHash` is not trusted. */
const hashOf = ({ data, kind, metadata }: SharedMemory): string => {
  try {
    return contentHash({ agentId: metadata?.agentId ?? "", data, kind })
  } catch (error) {
    if (error instanceof NotCanonical) return "none"
    throw error
  }
}

const summary = ({ claim, expiresAt, issuer, params, result }: Attestation): string => {
  const outcome = result.satisfied ? "holds" : "does NOT hold"
  return [
    `${shownText(claim)} ${shownText(JSON.stringify(params))} ${outcome} (${result.matchCount})`,
    `  for     ${shownText(result.namespace)}`,
    `  issuer  ${shownText(issuer)}`,
    `  until   ${timeText(expiresAt * 1_000)} UTC`
  ].join("\n")
}

const isAttestAnswer = Schema.is(AttestAnswer)
const isSearchAnswer = Schema.is(SearchAnswer)
