/** Hits of a search with their scores, and why each stands where it stands. */
import type { ApiError } from "../service/api.ts"
import { getMemory, giveFeedback, type Hit, type Memory, systemText, type Found } from "../service/memories.ts"
import { linkTo, change } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { count, summary } from "../service/words.ts"
import { Empty, Notice, Refused, Show } from "../ui/Notice.tsx"
import { useState } from "preact/hooks"
import { searched } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { mayChange } from "../service/session.ts"
import { Field } from "../ui/Field.tsx"
import { UserText } from "../ui/UserText.tsx"

/** Title of hits that no answer was made of. */
export const foundTitle = "Found"

/** Relevance from which a memory may well match (contract: Search). */
const matchingRelevanceMin = 0.35

export const Hits = (given: {
  readonly hits: ReadonlyArray<Hit>
  readonly title: string
  /** Query that found them. */
  readonly query: string
  /** How many were asked for: with as many there may be more. */
  readonly limit: number
}) => {
  const { hits, limit, query, title } = given
  return (
    <section class="card" aria-label={title}>
      <div class="head">
        <h2>
          {title} {title === foundTitle && hits.length >= limit ? "the best " : ""}
          {count(hits.length)}
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
      {hits.length > 0 && <MissingMemory />}
      {hits.length === 0 ? (
        <Empty title="Nothing found">
          <MissingMemory />
        </Empty>
      ) : (
        <ol>
          {hits.map((hit) => (
            <HitRow key={hit.id} hit={hit} query={query} />
          ))}
        </ol>
      )}
    </section>
  )
}

const HitRow = ({ hit, query }: { readonly hit: Hit; readonly query: string }) => {
  const subject = systemText(hit, "subjectId")
  const agent = systemText(hit, "agentId")
  return (
    <li class="hit">
      <a class="text" href={linkTo("memories", { id: hit.id })}>
        <UserText of={summary(hit.data)} />
      </a>
      <div class="meta">
        <span class="badge">{hit.kind}</span>
        {!hit.context.isLatest && <span class="badge warn">superseded</span>}
        {hit.source === "shared" && <span class="badge accent">shared by {hit.grantor}</span>}
        {subject !== undefined && (
          <span>
            about <UserText of={subject} />
          </span>
        )}
        {agent !== undefined && (
          <span>
            known to <UserText of={agent} />
          </span>
        )}
        {hit.context.when !== undefined && <span>{moment(Date.parse(hit.context.when))}</span>}
        {hit.context.tags.map((tag) => (
          <span key={tag}>
            #<UserText of={tag} />
          </span>
        ))}
      </div>
      <Scores hit={hit} />
      {hit.source === "own" && mayChange() && <UseOf key={query} id={hit.id} query={query} />}
    </li>
  )
}

/** Whether a hit was of use: kept with the memory, to make cases of (`muniment memories cases`); it moves no search. */
const UseOf = ({ id, query }: { readonly id: string; readonly query: string }) => {
  const [given, setGiven] = useState<boolean | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const give = (useful: boolean): void => {
    giveFeedback(id, query, useful).then(
      () => {
        showError(undefined)
        setGiven(useful)
      },
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <div class="actions small">
      <span class="muted">For this question:</span>
      <button type="button" class="plain" aria-pressed={given === true} onClick={() => give(true)}>
        of use
      </button>
      <button type="button" class="plain" aria-pressed={given === false} onClick={() => give(false)}>
        not of use
      </button>
      {error !== undefined && <Refused error={error} />}
    </div>
  )
}

export const Scores = ({ hit: { explain, quality } }: { readonly hit: Hit }) => (
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

/** Chooses the memory that a question should have found, without leaving the question. */
const MissingMemory = () => (
  <details class="missing">
    <summary>Is one missing?</summary>
    <div class="stack">
      <MemoryChoice label="Words that it has, or its id" onChoose={expect} />
    </div>
  </details>
)

interface Choosing {
  /** Id; "": none yet. */
  readonly chosen?: string
  /** Another, or "" where the words no longer offer the one that was chosen. */
  readonly onChoose: (id: string) => void
}

/** Chooses a memory by words of its own or by its id. */
export const MemoryChoice = (given: Choosing & { readonly label: string }) => {
  const { chosen = "", label, onChoose } = given
  const [text, setText] = useState("")
  const words = text.trim()
  return (
    <>
      <Field
        label={label}
        value={text}
        placeholder="invoice wrong address"
        onValue={(next) => {
          setText(next)
          if (chosen !== "" && next.trim() !== words) onChoose("")
        }}
      />
      {words !== "" && <Offered key={words} words={words} chosen={chosen} onChoose={onChoose} />}
    </>
  )
}

const Offered = ({ chosen, onChoose, words }: Choosing & { readonly words: string }) => {
  const { loaded } = useLoad((signal) => offered(words, signal), [words])
  return (
    <Show of={loaded}>
      {(memories) =>
        memories.length === 0 ? (
          <p class="muted">No memory of this account has these words or this id.</p>
        ) : (
          <ul class="choices" aria-label="Memories with these words">
            {memories.map((memory) => (
              <li key={memory.id}>
                <button type="button" aria-current={memory.id === chosen} onClick={() => onChoose(memory.id)}>
                  <span class="what">
                    <UserText of={summary(memory.data)} />
                  </span>
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

type Choosable = Pick<Memory, "id" | "kind" | "data" | "metadata">

/** Facts of their own, too, that a page would leave out behind the message that says the same. */
const offered = async (words: string, signal: AbortSignal): Promise<ReadonlyArray<Choosable>> => {
  if (/^mem_\S+$/.test(words)) return getMemory(words, signal).then((memory) => [memory], noneIfUnknown)
  const query = { query: words, limit: offeredMax, scope: "own", minRelevance: 0 } as const
  const [facts, all] = await Promise.all([
    searched<Found>({ ...query, include: "extracted" }, signal),
    searched<Found>(query, signal)
  ])
  const known = new Set(all.memories.map(({ id }) => id))
  return [...all.memories, ...facts.memories.filter(({ id }) => !known.has(id))]
    .toSorted((one, other) => other.quality.relevance - one.quality.relevance)
    .slice(0, offeredMax)
}

const noneIfUnknown = (cause: unknown): ReadonlyArray<Choosable> => {
  if (asApiError(cause).status === 404) return []
  throw cause
}

/** The reasons stand above the hits. */
const expect = (id: string): void => {
  change({ expected: id })
  scrollTo(0, 0)
}
