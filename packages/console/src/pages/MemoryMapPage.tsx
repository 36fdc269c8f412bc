/** The map: memories as points that lie near what is alike, coloured by topic, kind, subject or age; choices beside it. */
import { useEffect, useMemo, useState } from "preact/hooks"
import { isByWordsAlone, mapOf, type Point } from "../service/knowledge.ts"
import type { MapOfMemories } from "../service/memories.ts"
import { useLoad, asApiError } from "../service/load.ts"
import { change, parameters } from "../service/route.ts"
import { count, countOfMemories, summary } from "../service/words.ts"
import { Filters, FacetField, Choice, Field } from "../ui/Field.tsx"
import { Empty, Refused, Show, Stored, Waiting } from "../ui/Notice.tsx"
import { PointCanvas } from "../ui/PointCanvas.tsx"
import { MemoryPanel } from "./MemoryPanel.tsx"
import type { ApiError } from "../service/api.ts"
import { getMemory, type Memory, systemText } from "../service/memories.ts"
import { Icon } from "../ui/Icon.tsx"
import { UserText } from "../ui/UserText.tsx"
import { now } from "../service/browser.ts"

const defaultQuery = "everything that is known"
const sizes = ["500", "2000", "5000"] as const
const defaultSize = "500"

export const MemoryMapPage = () => {
  const given = parameters.value
  const text = (name: string) => given.get(name) ?? ""
  const query = {
    query: text("query") || defaultQuery,
    limit: text("limit") || defaultSize,
    agentId: text("agentId"),
    subjectId: text("subjectId"),
    kind: text("kind")
  }
  const key = JSON.stringify(query)
  const { loaded } = useLoad((signal) => mapOf(query, signal), [key])
  const { loaded: byWords } = useLoad(isByWordsAlone, [])
  return (
    <>
      <Filters names={["query", "agentId", "subjectId", "kind", "limit", "colour"]}>
        <Field
          label="About"
          value={text("query")}
          placeholder="everything"
          onValue={(value) => change({ query: value, id: "" })}
        />
        <FacetField
          facet="agents"
          label="Agent"
          value={query.agentId}
          onValue={(agentId) => change({ agentId, id: "" })}
        />
        <FacetField
          facet="subjects"
          label="Subject"
          value={query.subjectId}
          onValue={(subjectId) => change({ subjectId, id: "" })}
        />
        <FacetField facet="kinds" label="Kind" value={query.kind} onValue={(kind) => change({ kind, id: "" })} />
        <Choice
          label="Memories, at most"
          value={query.limit}
          options={sizes.map((size) => [size, count(Number(size))] as const)}
          onValue={(limit) => change({ limit: limit === defaultSize ? "" : limit, id: "" })}
        />
        <Choice
          label="Colour by"
          value={colouringOf(text("colour"))}
          options={colourings.map((name) => [name, name] as const)}
          onValue={(colour) => change({ colour: colour === "topic" ? "" : colour })}
        />
      </Filters>
      <Stored>
        {text("query") === "" && byWords.value === true ? (
          <section class="card">
            <Empty title="Write under “About” what to draw">
              <p>
                This service has no embedding model and finds by words alone: the map has the memories that have one of
                the words.
              </p>
            </Empty>
          </section>
        ) : (
          <Show of={loaded}>{(map) => <Drawn key={key} map={map} by={colouringOf(text("colour"))} />}</Show>
        )}
      </Stored>
    </>
  )
}

const colouringOf = (text: string): Colouring => colourings.find((name) => name === text) ?? "topic"

const none: ReadonlySet<number> = new Set()

const Drawn = ({ by, map }: { readonly map: MapOfMemories; readonly by: Colouring }) => {
  const { clusters, points } = map
  const { groupOf, groups } = useMemo(() => groupPoints(map, by), [map, by])
  const [hidden, setHidden] = useState(none)
  const [selected, select] = useState(none)
  const [tool, setTool] = useState<"pan" | "lasso">("pan")
  useEffect(() => setHidden(none), [by])
  const chosen = parameters.value.get("id") ?? ""
  const labels = useMemo(
    () => clusters.slice(0, labelsMax).map(({ position, topic }) => ({ ...position, text: topic })),
    [clusters]
  )
  const size = `${countOfMemories(points.length)}, ${count(clusters.length)} ${clusters.length === 1 ? "topic" : "topics"}`
  if (points.length === 0) {
    return (
      <section class="card">
        <Empty title="Nothing is on this map">
          <p>No memory matches what is asked for above.</p>
        </Empty>
      </section>
    )
  }
  const at = chosen === "" ? -1 : points.findIndex(({ id }) => id === chosen)
  return (
    <div class="pages map">
      <section class="card stack" aria-label="Map">
        <div class="head">
          <h2>{size}</h2>
          <div class="actions" role="group" aria-label="What a drag does">
            {(["pan", "lasso"] as const).map((name) => (
              <button key={name} type="button" aria-pressed={name === tool} onClick={() => setTool(name)}>
                {name === "pan" ? "Move" : "Lasso"}
              </button>
            ))}
          </div>
        </div>
        <PointCanvas
          label={`Map of ${size}`}
          points={points}
          groupOf={groupOf}
          colours={groups.map(({ colour }, group) => (hidden.has(group) ? undefined : colour))}
          labels={labels}
          selected={at >= 0 ? new Set([at]) : selected}
          tool={tool}
          onPick={(point) => change({ id: point === undefined ? "" : (points[point]?.id ?? "") })}
          onLasso={(found) => {
            change({ id: "" })
            select(found)
          }}
        />
        <Legend groups={groups} hidden={hidden} onHidden={setHidden} />
      </section>
      {chosen !== "" ? (
        <MemoryPanel id={chosen} onClose={() => change({ id: "" })} onChanged={() => undefined} />
      ) : selected.size > 0 ? (
        <ChosenMemories ids={[...selected].map((point) => points[point]!.id)} onClose={() => select(none)} />
      ) : (
        <Topics
          map={map}
          onChoose={(ids) => {
            const wanted = new Set(ids)
            select(new Set(points.flatMap(({ id }, point) => (wanted.has(id) ? [point] : []))))
          }}
        />
      )}
    </div>
  )
}

const labelsMax = 24

const Legend = (given: {
  readonly groups: ReadonlyArray<Group>
  readonly hidden: ReadonlySet<number>
  readonly onHidden: (hidden: ReadonlySet<number>) => void
}) => (
  <ul class="legend" aria-label="Colours; press to hide or show">
    {given.groups.map(({ colour, label, points }, group) =>
      points === 0 ? null : (
        <li key={label}>
          <button
            type="button"
            class="plain"
            aria-pressed={!given.hidden.has(group)}
            onClick={() => given.onHidden(given.hidden.symmetricDifference(new Set([group])))}
          >
            <i class="swatch" style={{ background: `var(${colour})` }} aria-hidden="true" />
            {label} <span class="muted number">{count(points)}</span>
          </button>
        </li>
      )
    )}
  </ul>
)

const Topics = (given: { readonly map: MapOfMemories; readonly onChoose: (ids: ReadonlyArray<string>) => void }) => (
  <section class="card stack side-list" aria-label="Topics">
    <div class="head">
      <h2>Topics</h2>
    </div>
    {given.map.clusters.length === 0 ? (
      <p class="muted">No memories are near enough to each other to be a topic.</p>
    ) : (
      <ul class="choices">
        {given.map.clusters.map(({ count: size, memoryIds, terms, topic }) => (
          <li key={topic}>
            <button type="button" onClick={() => given.onChoose(memoryIds)}>
              <span class="what">
                <UserText of={topic} />
              </span>
              <span class="small muted number">{count(size)}</span>
              <span class="small muted">{furtherTerms(topic, terms).join(", ")}</span>
            </button>
          </li>
        ))}
      </ul>
    )}
  </section>
)

const termsMax = 5

/** Terms that the name of the topic does not have already. */
const furtherTerms = (topic: string, terms: ReadonlyArray<string>): ReadonlyArray<string> =>
  terms.filter((term) => !topic.includes(term)).slice(0, termsMax)

const portion = 20

/** Memories that were chosen on the map, read as they are needed. */
const ChosenMemories = (given: { readonly ids: ReadonlyArray<string>; readonly onClose: () => void }) => {
  const { ids } = given
  const key = ids.join()
  const [wanted, setWanted] = useState(portion)
  const [memories, setMemories] = useState<ReadonlyArray<Memory>>([])
  const [error, showError] = useState<ApiError | undefined>(undefined)
  useEffect(() => {
    setMemories([])
    setWanted(portion)
  }, [key])
  useEffect(() => {
    const controller = new AbortController()
    Promise.all(ids.slice(0, wanted).map((id) => getMemory(id, controller.signal))).then(
      setMemories,
      (cause: unknown) => {
        if (!controller.signal.aborted) showError(asApiError(cause))
      }
    )
    return () => controller.abort()
  }, [key, wanted])
  return (
    <section class="card stack side-list" aria-label="Chosen memories">
      <div class="head">
        <h2>{count(ids.length)} chosen</h2>
        <button type="button" class="plain" onClick={given.onClose}>
          <Icon name="close" /> <span class="hidden">End the choice</span>
        </button>
      </div>
      {error !== undefined && <Refused error={error} />}
      {memories.length === 0 && error === undefined && <Waiting />}
      <ul class="choices">
        {memories.map((memory) => (
          <li key={memory.id}>
            <button type="button" onClick={() => change({ id: memory.id })}>
              <span class="what">
                <UserText of={summary(memory.data)} />
              </span>
              <span class="small muted" />
              <span class="small muted">
                {memory.kind} <UserText of={systemText(memory, "subjectId")} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {wanted < ids.length && (
        <div class="actions">
          <button type="button" onClick={() => setWanted((value) => value + portion)}>
            Show more
          </button>
        </div>
      )}
    </section>
  )
}

/** Points of a map in groups of one colour each: by topic, kind, subject or age. */
const colourings = ["topic", "kind", "subject", "age"] as const
type Colouring = (typeof colourings)[number]

interface Group {
  readonly label: string
  /** Name of a design token. */
  readonly colour: string
  readonly points: number
}

interface Grouping {
  readonly groups: ReadonlyArray<Group>
  /** By point: index into `groups`. */
  readonly groupOf: Uint8Array
}

/** Colours that are told apart; what comes after shares one. */
const coloursMax = 8
const colourOfOthers = "--map-others"

const groupPoints = ({ clusters, points }: Pick<MapOfMemories, "clusters" | "points">, by: Colouring): Grouping => {
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
