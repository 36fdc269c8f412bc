/**
 * Why a question did not find a memory: the memory beside the filters of the question, then the same question without
 * filters and with as many results as there can be, to see where it stands.
 */
import { searched } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { type Found, getMemory, type Hit, type Memory, systemText } from "../service/memories.ts"
import { linkTo } from "../service/route.ts"
import { decimal } from "../service/text.ts"
import { summary } from "../service/words.ts"
import { Show } from "../ui/Notice.tsx"

export interface AskedQuestion {
  readonly query: string
  readonly agentId: string | undefined
  readonly subjectId: string | undefined
  readonly kind: string | undefined
  readonly tags: string | undefined
  readonly limit: string | undefined
  readonly minRelevance: string | undefined
}

const resultsMax = 100
const resultsDefault = 10

interface Finding {
  readonly memory: Memory
  readonly reasons: ReadonlyArray<string>
}

export const Expected = (given: { readonly id: string; readonly question: AskedQuestion }) => {
  const { id, question } = given
  const { loaded } = useLoad((signal) => find(id, question, signal), [id, JSON.stringify(question)])
  return (
    <section class="card stack" aria-label="The memory that you expect">
      <h2>The memory that you expect</h2>
      <Show of={loaded}>
        {({ memory, reasons }) => (
          <>
            <p>
              <a href={linkTo("memories", { id })}>{summary(memory.data)}</a>
            </p>
            <ul class="reasons">
              {reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          </>
        )}
      </Show>
    </section>
  )
}

const find = async (id: string, question: AskedQuestion, signal: AbortSignal): Promise<Finding> => {
  const memory = await getMemory(id, signal)
  const wide = { query: question.query, limit: resultsMax, minRelevance: 0, explain: true }
  const { memories } = await searched<Found>(wide, signal)
  const place = memories.findIndex((hit) => hit.id === id)
  return { memory, reasons: [...leftOutBy(memory, question), ...standing(memories, place, question)] }
}

/** Filters, and its own state, that keep it out of every answer. */
const leftOutBy = (memory: Memory, { agentId, kind, subjectId, tags }: AskedQuestion): ReadonlyArray<string> => {
  const differs = (name: string, asked: string | undefined, own: string | undefined) =>
    asked !== undefined && asked !== own
      ? [`The filter ${name} “${asked}” leaves it out: it has ${own === undefined ? "none" : `“${own}”`}.`]
      : []
  const wanted = tags?.split(",").map((tag) => tag.trim()) ?? []
  return [
    ...(memory.context.isLatest ? [] : ["It is superseded: a search finds the newest version alone."]),
    ...differs("agent", agentId, systemText(memory, "agentId")),
    ...differs("subject", subjectId, systemText(memory, "subjectId")),
    ...differs("kind", kind, memory.kind),
    ...(wanted.length > 0 && !wanted.some((tag) => memory.context.tags.includes(tag))
      ? [`It has none of the tags ${wanted.join(", ")}.`]
      : [])
  ]
}

/** Where it stands without filters. */
const standing = (
  hits: ReadonlyArray<Hit>,
  place: number,
  { limit, minRelevance }: AskedQuestion
): ReadonlyArray<string> => {
  const hit = hits[place]
  if (hit === undefined) {
    const meaning = hits.some(({ explain }) => typeof explain?.dense === "number")
      ? "others are nearer in meaning"
      : "the search was by words alone"
    return [
      `Without filters it is not among the first ${resultsMax} either: others have more of the words of the question, and ${meaning}.`
    ]
  }
  const { explain, quality } = hit
  const asked = limit === undefined ? resultsDefault : Number(limit)
  const least = minRelevance === undefined ? 0 : Number(minRelevance)
  const scores =
    explain === undefined
      ? ""
      : ` (words ${decimal(explain.lexical)}, meaning ${explain.dense === null ? "no vector yet" : decimal(explain.dense)})`
  return [
    `Without filters it stands at place ${place + 1} with relevance ${quality.relevance.toFixed(2)}${scores}.`,
    ...(explain?.lexical === 0 ? ["It has none of the question's words: only its meaning speaks for it."] : []),
    ...(quality.relevance < least ? [`That is below the least relevance ${least}.`] : []),
    ...(place >= asked ? [`The question asks for ${asked} results, and these stand before it.`] : [])
  ]
}
