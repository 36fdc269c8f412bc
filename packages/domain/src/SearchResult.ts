/**
 * Results of a search by mode (contract: Answers and maps): memories, an answer made of them, or a map of their topics.
 */
import { Schema } from "effect"
import { SourceAttestations } from "./Attestation.ts"
import { AgentId } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { SearchHit } from "./Memory.ts"
import { UnusableGrant } from "./Grant.ts"

export const SearchedAt = Schema.String.annotate({ description: "ISO 8601 query time." })

export const sourceAttestations = Schema.optionalKey(
  SourceAttestations.annotate({
    description: "For each grantor with a hit: the service vouches for where the memories come from."
  })
)

export const unusableGrants = Schema.optionalKey(
  Schema.Array(UnusableGrant).annotate({ description: "Grants of the request that opened nothing, and why." })
)

const indexEngines = ["exact", "quantized", "hnsw"] as const

/** How the vectors of one agent were searched. */
export const IndexExplanation = Schema.Struct({
  agentId: AgentId,
  model: Schema.String.annotate({ description: "Embedding model of the vectors." }),
  engine: Schema.Literals(indexEngines).annotate({ description: "Which engine chose the candidates." }),
  reason: Schema.String.annotate({ description: "Why it was this one." }),
  probedLists: Schema.optionalKey(
    Schema.Int.annotate({
      description: "How many of its inverted lists it was expected to read; absent where it has none."
    })
  ),
  estimatedMicros: Schema.Finite.annotate({ description: "Microseconds the planner expected it to take." }),
  isCertified: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: `With recall=strict: whether no vector among the best by meaning can have been missed. False with more than ${Limits.strictScanMax} vectors, or too many equal ones.`
    })
  )
})
export type IndexExplanation = typeof IndexExplanation.Type

/** Work of a re-ranking model: the language model, or that of `MUNIMENT_RERANKER`. */
export const RerankExplanation = Schema.Struct({
  model: Schema.String,
  hits: Schema.Int.annotate({ description: "How many it put in order; 0 where it failed or took too long." }),
  millis: Schema.Finite,
  credits: Schema.Finite.annotate({ description: "For tokens of the language model, beyond the price of the search." })
})
export type RerankExplanation = typeof RerankExplanation.Type

const SearchExplanation = Schema.Struct({
  index: Schema.Array(IndexExplanation).check(Schema.isMaxLength(Limits.explainedNamespacesMax)),
  rerank: Schema.optionalKey(RerankExplanation)
}).annotate({
  description: `With explain=true: the caller's own agents, costliest first, at most ${Limits.explainedNamespacesMax}. Empty: words alone were looked for.`
})
export type SearchExplanation = typeof SearchExplanation.Type

const explain = Schema.optionalKey(SearchExplanation)

/** Fields of a search with `rerank=model`. */
const reranking = {
  reranked: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "With rerank=model: whether the language model put the hits in order. False: the order is the usual one."
    })
  ),
  rerankProblem: Schema.optionalKey(
    Schema.Struct({ code: Schema.String, message: Schema.String }).annotate({
      description: "Why it did not; absent with fewer than two hits, where it is not asked."
    })
  )
}

const ids = Schema.Array(Schema.String)
const coordinate = Schema.Finite.annotate({ description: "-1 to 1." })

/** Mode `llm`. */
export const FoundMemories = Schema.Struct({
  memories: Schema.Array(SearchHit),
  ...reranking,
  searchedAt: SearchedAt,
  sourceAttestations,
  unusableGrants,
  explain
})
export type FoundMemories = typeof FoundMemories.Type

/** Mode `answer`. */
export const GroundedAnswer = Schema.Struct({
  answer: Schema.String,
  memories: Schema.Array(SearchHit).annotate({ description: "The memories that the answer is made of." }),
  citations: ids.annotate({ description: "Ids of memories of this answer, in order of use." }),
  grounded: Schema.Boolean.annotate({
    description: "True: the answer has the part that was asked, in the words of the one who was asked about."
  }),
  hits: Schema.optionalKey(Schema.Array(SearchHit)).annotate({
    description: `Not grounded: what was found, best first, at most ${Limits.answerHitsMax}. It may or may not answer.`
  }),
  method: Schema.Literals(["model", "extractive"]),
  ...reranking,
  searchedAt: SearchedAt,
  sourceAttestations,
  unusableGrants,
  explain
})
export type GroundedAnswer = typeof GroundedAnswer.Type

const TopicCluster = Schema.Struct({
  topic: Schema.String,
  terms: Schema.Array(Schema.String).annotate({ description: "What sets it apart, strongest first." }),
  count: Schema.Int,
  kinds: Schema.Array(Schema.String),
  memoryIds: ids,
  position: Schema.Struct({ x: coordinate, y: coordinate })
})

/** Mode `map`. */
export const TopicMap = Schema.Struct({
  memoryMap: Schema.String.annotate({ description: "Markdown: a heading per topic, a bullet per memory." }),
  clusters: Schema.Array(TopicCluster),
  points: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      x: coordinate,
      y: coordinate,
      cluster: Schema.NullOr(Schema.Int).annotate({
        description: "Index into `clusters`; null: near no other memory."
      }),
      kind: Schema.String,
      subjectId: Schema.optionalKey(Schema.String.annotate({ description: "Of the caller's own memories." })),
      createdAt: Schema.Int.annotate({ description: "Milliseconds: when it was stored." })
    })
  ),
  searchedAt: SearchedAt,
  sourceAttestations,
  unusableGrants,
  explain
})
export type TopicMap = typeof TopicMap.Type

export type SearchResult = FoundMemories | GroundedAnswer | TopicMap
