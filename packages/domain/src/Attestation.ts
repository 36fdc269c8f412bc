/**
 * Attestations (contract: Attestations): claims about an account's memories, signed by the service with Ed25519 and
 * verifiable offline.
 */
import { Schema } from "effect"
import { durationUpTo } from "./GivenTimes.ts"
import { AgentId, SubjectId } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { QueryText } from "./BodyRules.ts"

const attestationClaims = ["has_memories_matching", "memory_count_gte", "has_schema"] as const

const AttestationFilters = Schema.Struct({
  agentId: Schema.optionalKey(AgentId),
  subjectId: Schema.optionalKey(SubjectId),
  kind: Schema.optionalKey(Schema.NonEmptyString),
  tags: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(Limits.tagFiltersMax)))
})

/** Body of POST /attestations. Which of the conditional fields is needed follows from the claim. */
export const CreateAttestation = Schema.Struct({
  claim: Schema.Literals(attestationClaims),
  query: Schema.optionalKey(QueryText.annotate({ description: "Required for has_memories_matching." })),
  filters: Schema.optionalKey(AttestationFilters),
  threshold: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Required for memory_count_gte." })
  ),
  schemaName: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: "Required for has_schema." })),
  expiresIn: Schema.optionalKey(durationUpTo(Limits.attestationDaysMax))
})
  .annotate({
    examples: [
      { claim: "memory_count_gte", threshold: 10, expiresIn: "24h" },
      { claim: "has_memories_matching", query: "trips to Kyoto", filters: { agentId: "assistant" } },
      { claim: "has_schema", schemaName: "contact" }
    ]
  })
  .check(
    Schema.makeFilter(
      (body: {
        readonly claim: string
        readonly query?: unknown
        readonly threshold?: unknown
        readonly schemaName?: unknown
      }) => {
        const field = conditionalField(body.claim)
        return body[field] !== undefined ? undefined : { path: [field], issue: `is missing: ${body.claim} needs it` }
      },
      {
        expected: "`query` for has_memories_matching, `threshold` for memory_count_gte, `schemaName` for has_schema",
        toJsonSchema: () => ({
          oneOf: attestationClaims.map((claim) => ({
            properties: { claim: { const: claim } },
            required: [conditionalField(claim)]
          }))
        })
      }
    )
  )
export type CreateAttestation = typeof CreateAttestation.Type

const conditionalField = (claim: string): "query" | "threshold" | "schemaName" =>
  claim === "has_memories_matching" ? "query" : claim === "memory_count_gte" ? "threshold" : "schemaName"

/** The signed object; its canonical JSON is what the signature covers. Times in seconds. */
export const Attestation = Schema.Struct({
  claim: Schema.String,
  params: Schema.Record(Schema.String, Schema.Json),
  result: Schema.Struct({ satisfied: Schema.Boolean, matchCount: Schema.Int, namespace: Schema.String }),
  issuedAt: Schema.Int,
  expiresAt: Schema.Int,
  issuer: Schema.String
})
export type Attestation = typeof Attestation.Type

/** Attests that returned memories are the grantor's: claim `shared_memories_from`, hashes in result order. */
export const SourceAttestation = Schema.Struct({ attestation: Attestation, signature: Schema.String })
export type SourceAttestation = typeof SourceAttestation.Type

/** By grantor, spelled as in the grant. */
export const SourceAttestations = Schema.Record(Schema.String, SourceAttestation)
