/** Why a question finds what it finds: hits with their scores, the answer with its sources, the same call to copy. */
import { useEffect, useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { type Loaded, useLoad } from "../service/load.ts"
import { type Answered, type Found, type Hit, systemText } from "../service/memories.ts"
import { lastQuestion } from "../service/question.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { count, summary } from "../service/words.ts"
import { callTexts } from "../service/callTexts.ts"
import { Filters } from "../ui/Filters.tsx"
import { useDraft } from "../ui/draft.ts"
import { FacetField } from "../ui/FacetField.tsx"
import { Choice, Field } from "../ui/Field.tsx"
import { Empty, Notice, Show } from "../ui/Notice.tsx"
import { Stored } from "../ui/Stored.tsx"
import { MissingMemory } from "./MissingMemory.tsx"
import { Expected } from "./Expected.tsx"

type Result = Found | Answered

export const Search = () => {
  const given = parameters.value
  const query = given.get("query") ?? ""
  const mode = given.get("mode") === "answer" ? "answer" : "llm"
  const expected = given.get("expected") ?? undefined
  const [text, setText] = useDraft(query)
  const request = {
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
    (signal) =>
      query === ""
        ? Promise.resolve(undefined)
        : call<Result>("GET", "/v1/memories/search", { query: { ...request, explain: true }, signal }),
    [JSON.stringify(request)]
  )
  useEffect(() => {
    if (query !== "") lastQuestion.value = query
  }, [query])
  return (
    <>
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
        <FacetField
          facet="agents"
          label="Agent"
          value={request.agentId ?? ""}
          onValue={(agentId) => change({ agentId })}
        />
        <FacetField
          facet="subjects"
          label="Subject"
          value={request.subjectId ?? ""}
          onValue={(subjectId) => change({ subjectId })}
        />
        <FacetField facet="kinds" label="Kind" value={request.kind ?? ""} onValue={(kind) => change({ kind })} />
        <Field label="Tags, any of" value={request.tags ?? ""} onValue={(tags) => change({ tags })} />
        <Field
          label="Results"
          type="number"
          value={request.limit ?? ""}
          placeholder="10"
          onValue={(limit) => change({ limit })}
        />
        <Field
          label="Relevance ≥"
          type="number"
          value={request.minRelevance ?? ""}
          placeholder="0 to 1"
          onValue={(minRelevance) => change({ minRelevance })}
        />
        <Field
          label="Expected memory"
          value={expected ?? ""}
          placeholder="mem_…"
          isWide
          onValue={(id) => change({ expected: id })}
        />
      </Filters>
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

/** Of hits that no answer was made of. */
const foundTitle = "Found"

/** Of a memory that may well match (contract: Search, what a relevance means). */
const matchingRelevanceMin = 0.35

const Hits = ({ hits, title }: { readonly hits: ReadonlyArray<Hit>; readonly title: string }) => (
  <section class="card" aria-label={title}>
    <div class="head">
      <h2>
        {title} {count(hits.length)}
      </h2>
    </div>
    {title === foundTitle &&
      hits.length > 0 &&
      hits.every(({ quality }) => quality.relevance < matchingRelevanceMin) && (
        <Notice>
          None of these reaches a relevance of {matchingRelevanceMin}, from which about half of the hits are matches.
          Paraphrases without a common word seldom do.
        </Notice>
      )}
    {hits.length === 0 ? (
      <Empty title="Nothing found">
        <MissingMemory />
      </Empty>
    ) : (
      <ol>
        {hits.map((hit) => (
          <HitRow key={hit.id} hit={hit} />
        ))}
      </ol>
    )}
    {hits.length > 0 && <MissingMemory />}
  </section>
)

const HitRow = ({ hit }: { readonly hit: Hit }) => {
  const subject = systemText(hit, "subjectId")
  const agent = systemText(hit, "agentId")
  return (
    <li class="hit">
      <a class="text" href={linkTo("memories", { id: hit.id })}>
        {summary(hit.data)}
      </a>
      <div class="meta">
        <span class="badge">{hit.kind}</span>
        {!hit.context.isLatest && <span class="badge warn">superseded</span>}
        {hit.source === "shared" && <span class="badge accent">shared by {hit.grantor}</span>}
        {subject !== undefined && <span>about {subject}</span>}
        {agent !== undefined && <span>known to {agent}</span>}
        {hit.context.when !== undefined && <span>{moment(Date.parse(hit.context.when))}</span>}
        {hit.context.tags.map((tag) => (
          <span key={tag}>#{tag}</span>
        ))}
      </div>
      <Scores hit={hit} />
    </li>
  )
}

const Scores = ({ hit: { explain, quality } }: { readonly hit: Hit }) => (
  <>
    <div class="bars">
      <Bar name="relevance" value={quality.relevance} className="" />
      {explain !== undefined && <Bar name="words" value={explain.lexical} className="words" />}
      {explain !== undefined && explain.dense !== null && (
        <Bar name="meaning" value={explain.dense} className="meaning" />
      )}
    </div>
    {explain !== undefined && (
      <details class="small">
        <summary class="muted">Why it stands here</summary>
        <ul>
          {explain.terms.map(({ adds, meaning, term }) => (
            <li key={term}>
              <strong class="number">
                {adds >= 0 ? "+" : ""}
                {adds.toFixed(2)}
              </strong>{" "}
              {meaning}
            </li>
          ))}
          {explain.moved !== undefined && <li>{explain.moved}</li>}
        </ul>
      </details>
    )}
  </>
)

const Bar = (given: { readonly name: string; readonly value: number; readonly className: string }) => (
  <span class="score">
    <span>{given.name}</span>
    <span class="bar" aria-hidden="true">
      <i class={given.className} style={{ width: `${Math.round(Math.max(0, Math.min(1, given.value)) * 100)}%` }} />
    </span>
    <span class="number">{given.value.toFixed(2)}</span>
  </span>
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

const CopyCall = ({ request }: { readonly request: Readonly<Record<string, string | undefined>> }) => {
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
