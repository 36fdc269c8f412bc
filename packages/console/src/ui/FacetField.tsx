/** A filter by a value that memories have: those with most memories are offered once somebody is about to type. */
import { useState } from "preact/hooks"
import type { FacetName } from "@muniment/domain/Search"
import { facetsOf } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { Field } from "./Field.tsx"

const offeredMax = 200

export const FacetField = (given: {
  readonly facet: FacetName
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
}) => {
  const [isAsked, ask] = useState(false)
  const { loaded } = useLoad(
    (signal) => (isAsked ? facetsOf(given.facet, { limit: offeredMax }, signal) : Promise.resolve(undefined)),
    [isAsked]
  )
  return (
    <Field
      label={given.label}
      value={given.value}
      onValue={given.onValue}
      onFocus={() => ask(true)}
      suggestions={(loaded.value?.values ?? []).map(({ value }) => value)}
    />
  )
}
