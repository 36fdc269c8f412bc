/** Points of a map in groups of one colour each: by topic, kind, subject or age. */
import { now } from "./browser.ts"
import type { MapOfMemories, Point } from "./knowledge.ts"

export const colourings = ["topic", "kind", "subject", "age"] as const
export type Colouring = (typeof colourings)[number]

export interface Group {
  readonly label: string
  /** Name of a design token. */
  readonly colour: string
  readonly points: number
}

export interface Grouping {
  readonly groups: ReadonlyArray<Group>
  /** By point: index into `groups`. */
  readonly groupOf: Uint8Array
}

/** Colours that are told apart; what comes after shares one. */
const coloursMax = 8
const colourOfOthers = "--map-others"

export const groupPoints = (
  { clusters, points }: Pick<MapOfMemories, "clusters" | "points">,
  by: Colouring
): Grouping => {
  if (by === "age") return byAge(points)
  const labelOf: (point: Point) => string | undefined =
    by === "topic"
      ? ({ cluster }) => (cluster === null ? undefined : clusters[cluster]?.topic)
      : by === "kind"
        ? ({ kind }) => kind
        : ({ subjectId }) => subjectId
  const labels = points.map(labelOf)
  const counts = new Map<string, number>()
  for (const label of labels) if (label !== undefined) counts.set(label, (counts.get(label) ?? 0) + 1)
  const named = [...counts].sort(([, one], [, other]) => other - one).slice(0, coloursMax)
  const indexOf = new Map(named.map(([label], at) => [label, at]))
  const rest = named.length
  const groupOf = Uint8Array.from(labels, (label) => (label === undefined ? rest : (indexOf.get(label) ?? rest)))
  const groups = named.map(([label, count], at): Group => ({ label, colour: `--map-${at}`, points: count }))
  const others = groupOf.reduce((sum, group) => sum + (group === rest ? 1 : 0), 0)
  const restLabel = counts.size > named.length ? `other ${by}s` : `no ${by}`
  return {
    groups: others === 0 ? groups : [...groups, { label: restLabel, colour: colourOfOthers, points: others }],
    groupOf
  }
}

const dayMillis = 86_400_000

const ages: ReadonlyArray<readonly [label: string, days: number]> = [
  ["today", 1],
  ["this week", 7],
  ["this month", 30],
  ["this quarter", 91],
  ["older", Infinity]
]

const byAge = (points: ReadonlyArray<Point>): Grouping => {
  const at = now()
  const groupOf = Uint8Array.from(points, ({ createdAt }) =>
    ages.findIndex(([, days]) => at - createdAt < days * dayMillis)
  )
  const groups = ages.map(([label], group): Group => {
    const count = groupOf.reduce((sum, one) => sum + (one === group ? 1 : 0), 0)
    return { label, colour: `--age-${group}`, points: count }
  })
  return { groups, groupOf }
}
