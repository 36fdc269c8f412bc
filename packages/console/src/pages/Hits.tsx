/** Hits of a search with their scores, and why each stands where it stands. */
import { type Hit, systemText, type Found } from "../service/memories.ts"
import { linkTo, change } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { count, summary } from "../service/words.ts"
import { Empty, Notice, Show } from "../ui/Notice.tsx"
import { useState } from "preact/hooks"
import { searched } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { Field } from "../ui/Field.tsx"

/** Of hits that no answer was made of. */
export const foundTitle = "Found"

/** Of a memory that may well match (contract: Search, what a relevance means). */
const matchingRelevanceMin = 0.35

export const Hits = ({ hits, title }: { readonly hits: ReadonlyArray<Hit>; readonly title: string }) => (
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

const offeredMax = 8

/** Chooses the memory that a question should have found, by words of its own, without leaving the question. */
const MissingMemory = () => {
  const [words, setWords] = useState("")
  return (
    <details class="missing">
      <summary>Is one missing?</summary>
      <div class="stack">
        <Field
          label="Words that it has"
          value={words}
          placeholder="invoice wrong address"
          onValue={(text) => setWords(text.trim())}
        />
        {words !== "" && <Offered key={words} words={words} />}
      </div>
    </details>
  )
}

const Offered = ({ words }: { readonly words: string }) => {
  const { loaded } = useLoad(
    (signal) => searched<Found>({ query: words, limit: offeredMax, scope: "own", minRelevance: 0 }, signal),
    [words]
  )
  return (
    <Show of={loaded}>
      {({ memories }) =>
        memories.length === 0 ? (
          <p class="muted">No memory of this account has these words.</p>
        ) : (
          <ul class="choices" aria-label="Memories with these words">
            {memories.map((memory) => (
              <li key={memory.id}>
                <button type="button" onClick={() => expect(memory.id)}>
                  <span class="what">{summary(memory.data)}</span>
                  <span class="small muted">
                    {memory.kind}
                    {systemText(memory, "agentId") !== undefined && `, known to ${systemText(memory, "agentId")}`}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </Show>
  )
}

/** The reasons stand above the hits. */
const expect = (id: string): void => {
  change({ expected: id })
  scrollTo(0, 0)
}
