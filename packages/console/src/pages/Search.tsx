/** Search: a question with its filters, the answer with its sources, the hits (`Hits.tsx`), the same call to copy. */
import { useEffect, useState } from "preact/hooks"
import { numberNames, searched } from "../service/knowledge.ts"
import { type Loaded, useLoad } from "../service/load.ts"
import type { Answered, Found, Hit } from "../service/memories.ts"
import { lastQuestion } from "./MemoryPanel.tsx"
import { change, linkTo, parameters } from "../service/route.ts"
import { Filters } from "../ui/Filters.tsx"
import { useDraft, Choice, Field, FacetField } from "../ui/Field.tsx"
import { Empty, Show } from "../ui/Notice.tsx"
import { Stored } from "../ui/Stored.tsx"
import { Expected } from "./Expected.tsx"
import { foundTitle, Hits } from "./Hits.tsx"

type Result = Found | Answered

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
  const { loaded } = useLoad<Result | undefined>(
    (signal) => (query === "" ? Promise.resolve(undefined) : searched<Result>({ ...request, explain: true }, signal)),
    [JSON.stringify(request)]
  )
  useEffect(() => {
    if (query !== "") lastQuestion.value = query
  }, [query])
  return (
    <>
      <QuestionForm query={query} />
      <SearchFields request={request} expected={expected} />
      {expected !== undefined && query !== "" && <Expected id={expected} question={request} />}
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

const QuestionForm = ({ query }: { readonly query: string }) => {
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
          value={text}
          placeholder="Where does Alice live?"
          onInput={({ currentTarget: { value } }) => setText(value)}
        />
      </label>
      <button type="submit" class="primary">
        Search
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
        <p>If a memory is missing, “Is one missing?” below the hits says why.</p>
      </Empty>
    )}
  </section>
)

const Results = ({ loaded }: { readonly loaded: Loaded<Result | undefined> }) => (
  <Show of={loaded}>
    {(result) =>
      result === undefined ? null : (
        <>
          {"answer" in result && <Answer result={result} />}
          <Hits title={"answer" in result ? "Made of" : foundTitle} hits={hitsOf(result)} />
          <IndexFacts result={result} />
        </>
      )
    }
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
      {result.answer === "" ? "No answer." : result.answer}
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
            <strong>{agentId}</strong>: {engine}, since {reason} ({model}, about {Math.round(estimatedMicros)} µs)
          </li>
        ))}
      </ul>
    </section>
  )

const CopyCall = ({ request }: { readonly request: SearchRequest }) => {
  const texts = callTexts(location.origin, request)
  const [name, setName] = useState<keyof typeof texts>("curl")
  const [isCopied, setCopied] = useState(false)
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
          <button
            type="button"
            onClick={() => {
              void navigator.clipboard.writeText(texts[name]).then(() => setCopied(true))
            }}
          >
            {isCopied ? "Copied" : "Copy"}
          </button>
        </div>
      </div>
      <pre tabIndex={0}>{texts[name]}</pre>
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
