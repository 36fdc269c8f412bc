/** Metadata of a memory (contract: Memories): any JSON object of bounded size that a caller notes beside the data. */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"

type JsonObject = { readonly [key: string]: Schema.Json }

const encoder = new TextEncoder()

/** A plain value nests 0 deep. */
const depthOf = (value: Schema.Json): number => {
  if (typeof value !== "object" || value === null) return 0
  return 1 + Object.values(value).reduce<number>((most, inner) => Math.max(most, depthOf(inner)), 0)
}

export const Metadata = Schema.Record(Schema.String, Schema.Json)
  .check(
    Schema.makeFilter((given: JsonObject) => {
      if (depthOf(given) > Limits.metadataDepthMax) return `expected at most ${Limits.metadataDepthMax} levels`
      return encoder.encode(JSON.stringify(given)).length > Limits.metadataBytesMax
        ? `expected at most ${Limits.metadataBytesMax} bytes as JSON`
        : undefined
    })
  )
  .annotate({
    description:
      "Any JSON object beside the data: filters reach it (`where`), search by words and by meaning does not. Answers have it in `context.metadata`.",
    examples: [{ project: "apollo", score: 3 }]
  })

/** The entries that all have; undefined: none. */
export const commonMetadata = (all: ReadonlyArray<JsonObject | undefined>): JsonObject | undefined => {
  const [first, ...others] = all
  const isCommon = ([name, value]: readonly [string, Schema.Json]) =>
    others.every((one) => one !== undefined && JSON.stringify(one[name]) === JSON.stringify(value))
  const common = Object.entries(first ?? {}).filter(isCommon)
  return common.length === 0 ? undefined : Object.fromEntries(common)
}
