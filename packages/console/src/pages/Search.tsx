/** Search: a question with its filters, the answer with its sources, the hits (`Hits.tsx`), the same call to copy. */
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { numberNames, searched } from "../service/knowledge.ts"
import { asApiError, type Loaded, useLoad } from "../service/load.ts"
import {
  type Answered,
  type Found,
  type Hit,
  getMemory,
  type Memory,
  sourcesOf,
  systemText
} from "../service/memories.ts"
import { lastQuestion } from "./MemoryPanel.tsx"
import { change, linkTo, parameters } from "../service/route.ts"
import { CopyButton } from "../ui/CopyButton.tsx"
import { Filters, useDraft, Choice, Field, FacetField } from "../ui/Field.tsx"
import { Empty, Refused, Show, Stored } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"
import { foundTitle, Hits, Scores } from "./Hits.tsx"
import { addQuestion } from "../service/runs.ts"
import { decimal } from "../service/text.ts"
import { summary } from "../service/words.ts"
import { mayChange } from "../service/session.ts"

type Result = Found | Answered

/** A result with the question that it answers, which may be older than the one in the address. */
interface Replied {
  readonly query: string
  readonly limit: number
  readonly result: Result
}

/** Parameters of the call. */
type SearchRequest = {
  readonly query: string
  readonly mode: "answer" | "llm"
} & Readonly<Record<"agentId" | "subjectId" | "kind" | "tags" | "limit" | "minRelevance", string | undefined>>

export const Search = () => {
  const given = parameters.value
  const query = given.get("query") ?? ""
  const mode = given.get("mode") === "answer" ? "answer" : "llm"
  const expected = given.get("expected") ?? undefined
  const request: SearchRequest = {
    query,
    mode,
    agentId: given.get("agentId") ?? undefined,
    subjectId: given.get("subjectId") ?? undefined,
    kind: given.get("kind") ?? undefined,
    tags: given.get("tags") ?? undefined,
    limit: given.get("limit") ?? undefined,
    minRelevance: given.get("minRelevance") ?? undefined
  }
  const { loaded } = useLoad<Replied | undefined>(
    async (signal) =>
      query === ""
        ? undefined
        : {
            query,
            limit: Number(request.limit ?? resultsDefault),
            result: await searched<Result>({ ...request, explain: true }, signal)
          },
    [JSON.stringify(request)]
  )
  // An effect after the frame is dropped if the page is left before.
  useLayoutEffect(() => {
    if (query !== "") lastQuestion.value = query
  }, [query])
  return (
    <>
      <QuestionForm query={query} action="Search" />
      <SearchFields request={request} expected={expected} />
      {expected !== undefined && query !== "" && <Expected key={expected} id={expected} question={request} />}
      {query === "" ? (
        <Stored>
          <Unasked isExpecting={expected !== undefined} />
        </Stored>
      ) : (
        <div class="beside">
          <div class="stack">
            <Results loaded={loaded} />
          </div>
          <CopyCall request={request} />
        </div>
      )}
    </>
  )
}

export const QuestionForm = ({ action, query }: { readonly query: string; readonly action: string }) => {
  const [text, setText] = useDraft(query)
  return (
    <form
      class="ask"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        change({ query: text.trim() })
      }}
    >
      <label>
        <span class="hidden">Question</span>
        <input
          type="search"
          dir="auto"
          value={text}
          placeholder="Where does Alice live?"
          onInput={({ currentTarget: { value } }) => setText(value)}
        />
      </label>
      <button type="submit" class="primary">
        {action}
      </button>
    </form>
  )
}

const SearchFields = (given: { readonly request: SearchRequest; readonly expected: string | undefined }) => {
  const { agentId, kind, limit, minRelevance, mode, subjectId, tags } = given.request
  return (
    <Filters names={["mode", "agentId", "subjectId", "kind", "tags", "limit", "minRelevance", "expected"]}>
      <Choice
        label="Mode"
        value={mode}
        options={[
          ["llm", "memories"],
          ["answer", "answer"]
        ]}
        onValue={(value) => change({ mode: value === "llm" ? "" : value })}
      />
      <FacetField facet="agents" label="Agent" value={agentId ?? ""} onValue={(value) => change({ agentId: value })} />
      <FacetField
        facet="subjects"
        label="Subject"
        value={subjectId ?? ""}
        onValue={(value) => change({ subjectId: value })}
      />
      <FacetField facet="kinds" label="Kind" value={kind ?? ""} onValue={(value) => change({ kind: value })} />
      <Field label="Tags, any of" value={tags ?? ""} onValue={(value) => change({ tags: value })} />
      <Field
        label="Results"
        type="number"
        value={limit ?? ""}
        placeholder="10"
        onValue={(value) => change({ limit: value })}
      />
      <Field
        label="Relevance ≥"
        type="number"
        value={minRelevance ?? ""}
        placeholder="0 to 1"
        onValue={(value) => change({ minRelevance: value })}
      />
      <Field
        label="Expected memory"
        value={given.expected ?? ""}
        placeholder="mem_…"
        isWide
        onValue={(id) => change({ expected: id })}
      />
    </Filters>
  )
}

const Unasked = ({ isExpecting }: { readonly isExpecting: boolean }) => (
  <section class="card">
    {isExpecting ? (
      <Empty title="Ask the question that should find it">
        <p>The page then says what keeps the expected memory out, or where it stands.</p>
      </Empty>
    ) : (
      <Empty title="Ask something">
        <p>Every hit shows which words, which meaning and which other terms brought it where it stands.</p>
        <p>If a memory is missing, “Is one missing?” above the hits says why.</p>
      </Empty>
    )}
  </section>
)

const resultsDefault = 10

const Results = ({ loaded }: { readonly loaded: Loaded<Replied | undefined> }) => (
  <Show of={loaded}>
    {(replied) => {
      if (replied === undefined) return null
      const { limit, query, result } = replied
      return (
        <>
          {"answer" in result && <Answer result={result} />}
          <Hits title={"answer" in result ? "Made of" : foundTitle} hits={hitsOf(result)} limit={limit} query={query} />
          <IndexFacts result={result} />
        </>
      )
    }}
  </Show>
)

const hitsOf = (result: Result): ReadonlyArray<Hit> =>
  "answer" in result && result.memories.length === 0 ? (result.hits ?? []) : result.memories

const Answer = ({ result }: { readonly result: Answered }) => (
  <section class="card stack" aria-label="Answer">
    <div class="meta">
      {result.grounded ? (
        <span class="badge good">grounded: the memories say it</span>
      ) : (
        <span class="badge warn">not grounded: nothing found says it</span>
      )}
      <span class="badge">{result.method === "model" ? "by the language model" : "in words of the memories"}</span>
    </div>
    <p class="answer">
      {result.answer === "" ? "No answer." : <UserText of={result.answer} />}
      {result.citations.map((id, index) => (
        <sup key={id}>
          <a href={linkTo("memories", { id })}>[{index + 1}]</a>
        </sup>
      ))}
    </p>
  </section>
)

const IndexFacts = ({ result: { explain } }: { readonly result: Result }) =>
  explain === undefined || explain.index.length === 0 ? null : (
    <section class="card" aria-label="How the vectors were searched">
      <div class="head">
        <h2>How the vectors were searched</h2>
      </div>
      <ul class="stack small">
        {explain.index.map(({ agentId, engine, estimatedMicros, model, reason }) => (
          <li key={`${agentId} ${model}`}>
            <strong>
              <UserText of={agentId} />
            </strong>
            : {engine}, since {reason} ({model}, about {Math.round(estimatedMicros)} µs)
          </li>
        ))}
      </ul>
    </section>
  )

const CopyCall = ({ request }: { readonly request: SearchRequest }) => {
  const texts = callTexts(location.origin, request)
  const [name, setName] = useState<keyof typeof texts>("curl")
  const shown = useRef<HTMLPreElement>(null)
  return (
    <section class="card stack" aria-label="The same call">
      <div class="head">
        <h2>The same call</h2>
        <div class="actions">
          {Object.keys(texts).map((each) => (
            <button
              key={each}
              type="button"
              class="plain"
              aria-pressed={each === name}
              onClick={() => setName(each as typeof name)}
            >
              {each}
            </button>
          ))}
          <CopyButton text={texts[name]} shown={shown} />
        </div>
      </div>
      <pre tabIndex={0} ref={shown}>
        {texts[name]}
      </pre>
    </section>
  )
}

/** A search as programs send it: for a shell, TypeScript, Python, and as a call of an MCP tool. */
const callTexts = (origin: string, request: Readonly<Record<string, string | undefined>>) => {
  const given = Object.entries(request).flatMap(([name, value]) =>
    value === undefined || value === "" || (name === "mode" && value === "llm") ? [] : [[name, value] as const]
  )
  const json = Object.fromEntries(given.map(([name, value]) => [name, numberNames.has(name) ? Number(value) : value]))
  const python = given.map(([name, value]) => `${snake(name)}=${numberNames.has(name) ? value : JSON.stringify(value)}`)
  return {
    curl: `curl "${origin}/v1/memories/search?${new URLSearchParams(given.map(([name, value]) => [name, value]))}" \\\n  -H "authorization: Bearer $MUNIMENT_API_KEY"`,
    TypeScript: `import { Muniment } from "@muniment/client/Muniment"\n\nconst memory = new Muniment({ baseUrl: ${JSON.stringify(origin)}, apiKey: process.env.MUNIMENT_API_KEY })\nconst result = await memory.search(${JSON.stringify(json)})`,
    Python: `from muniment import Muniment\n\nmemory = Muniment(base_url=${JSON.stringify(origin)}, api_key=API_KEY)\nresult = memory.search(${python.join(", ")})`,
    MCP: JSON.stringify({ method: "tools/call", params: { name: "memory_search", arguments: json } }, null, 2)
  }
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

interface AskedQuestion {
  readonly query: string
  readonly agentId: string | undefined
  readonly subjectId: string | undefined
  readonly kind?: string | undefined
  readonly tags?: string | undefined
  readonly include?: string | undefined
  readonly limit?: string | undefined
  readonly minRelevance?: string | undefined
}

const resultsMax = 100

interface Finding {
  readonly memory: Memory
  readonly reasons: ReadonlyArray<string>
  /** As the question without filters finds it. */
  readonly hit: Hit | undefined
}

const Expected = (given: { readonly id: string; readonly question: AskedQuestion }) => {
  const { id, question } = given
  const { loaded } = useLoad((signal) => whyNotFound(id, question, signal), [id, JSON.stringify(question)])
  return (
    <section class="card stack" aria-label="The memory that you expect">
      <h2>The memory that you expect</h2>
      <Show of={loaded}>
        {({ hit, memory, reasons }) => (
          <>
            <p>
              <a href={linkTo("memories", { id })}>
                <UserText of={summary(memory.data)} />
              </a>
            </p>
            <ul class="reasons">
              {reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
            {hit !== undefined && <Scores hit={hit} />}
            {mayChange() && <KeepQuestion key={`${id} ${question.query}`} id={id} query={question.query} />}
          </>
        )}
      </Show>
    </section>
  )
}

/** A question that should find a memory is asked again by Evaluate. */
const KeepQuestion = ({ id, query }: { readonly id: string; readonly query: string }) => {
  const [isKept, setKept] = useState(false)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  return (
    <div class="actions small">
      {isKept ? (
        <span>
          Kept: <a href={linkTo("evaluate")}>Evaluate</a> asks it.
        </span>
      ) : (
        <button
          type="button"
          onClick={() =>
            addQuestion(id, query).then(
              () => setKept(true),
              (cause: unknown) => showError(asApiError(cause))
            )
          }
        >
          Keep as a question to evaluate
        </button>
      )}
      {error !== undefined && <Refused error={error} />}
    </div>
  )
}

/**
 * Why a question did not find a memory: the memory beside the filters of the question, then the same question without
 * filters and with as many results as there can be, to see where it stands.
 */
export const whyNotFound = async (id: string, question: AskedQuestion, signal: AbortSignal): Promise<Finding> => {
  const memory = await getMemory(id, signal)
  const wide = { query: question.query, limit: resultsMax, minRelevance: 0, explain: true }
  const { memories } = await searched<Found>(wide, signal)
  const place = memories.findIndex((hit) => hit.id === id)
  const stead = place < 0 ? messageInItsStead(memory, memories, question) : []
  const others = stead.length > 0 ? [] : standing(memories, place, question)
  return { memory, reasons: [...leftOutBy(memory, question), ...stead, ...others], hit: memories[place] }
}

/** Filters, and its own state, that keep it out of every answer. */
const leftOutBy = (
  memory: Memory,
  { agentId, include, kind, subjectId, tags }: AskedQuestion
): ReadonlyArray<string> => {
  const differs = (name: string, asked: string | undefined, own: string | undefined) =>
    asked !== undefined && asked !== own
      ? [`The filter ${name} “${asked}” leaves it out: it has ${own === undefined ? "none" : `“${own}”`}.`]
      : []
  const isMessage = memory.kind === "conversation_message"
  const wanted = tags?.split(",").map((tag) => tag.trim()) ?? []
  return [
    ...(memory.context.isLatest ? [] : ["It is superseded: a search finds the newest version alone."]),
    ...differs("agent", agentId, systemText(memory, "agentId")),
    ...differs("subject", subjectId, systemText(memory, "subjectId")),
    ...differs("kind", kind, memory.kind),
    ...(include === "messages" && !isMessage ? ["It is no message, and messages only are searched."] : []),
    ...(include === "extracted" && isMessage ? ["It is a message, and messages are not searched."] : []),
    ...(wanted.length > 0 && !wanted.some((tag) => memory.context.tags.includes(tag))
      ? [`It has none of the tags ${wanted.join(", ")}.`]
      : [])
  ]
}

/** A page shows one of a fact and the message that says the same. */
const messageInItsStead = (
  memory: Memory,
  hits: ReadonlyArray<Hit>,
  question: AskedQuestion
): ReadonlyArray<string> => {
  const sources = sourcesOf(memory)
  const at = hits.findIndex(
    (hit) => hit.kind === "conversation_message" && sourcesOf(hit).some((source) => sources.includes(source))
  )
  if (at < 0) return []
  return [
    `The message that it was taken from stands at place ${at + 1} in its stead: a search shows one of both. With a kind it finds facts alone.`,
    ...beyond(at, question)
  ]
}

const beyond = (place: number, { limit }: AskedQuestion): ReadonlyArray<string> => {
  const asked = limit === undefined ? resultsDefault : Number(limit)
  return place >= asked ? [`The question asks for ${asked} results, and these stand before it.`] : []
}

/** Where it stands without filters. */
const standing = (hits: ReadonlyArray<Hit>, place: number, question: AskedQuestion): ReadonlyArray<string> => {
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
  const least = question.minRelevance === undefined ? 0 : Number(question.minRelevance)
  const scores =
    explain === undefined
      ? ""
      : ` (words ${decimal(explain.lexical)}, meaning ${explain.dense === null ? "no vector yet" : decimal(explain.dense)})`
  return [
    `Without filters it stands at place ${place + 1} with relevance ${quality.relevance.toFixed(2)}${scores}.`,
    ...(explain?.lexical === 0 ? ["It has none of the question's words: only its meaning speaks for it."] : []),
    ...(quality.relevance < least ? [`That is below the least relevance ${least}.`] : []),
    ...beyond(place, question)
  ]
}
