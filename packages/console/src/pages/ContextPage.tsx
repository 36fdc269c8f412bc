/**
 * The context that `POST /v1/context` gives an agent: its text, the tokens of each section, each line with its memory.
 */
import type { ContextAnswer } from "@muniment/domain/Context"
import { useRef } from "preact/hooks"
import { call } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { useLoad } from "../service/load.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { count, countOf } from "../service/words.ts"
import { CopyButton } from "../ui/CopyButton.tsx"
import { FacetField, Field, Filters } from "../ui/Field.tsx"
import { Empty, Show, Stored } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"
import { QuestionForm } from "./Search.tsx"

type Section = NonNullable<ContextAnswer["sections"]>[number]

interface Handed {
  readonly text: ContextAnswer
  readonly parts: ContextAnswer
}

export const ContextPage = () => {
  const given = parameters.value
  const asked = Object.fromEntries(
    ["query", "agentId", "subjectId", "threadId"].flatMap((name) => {
      const value = given.get(name) ?? ""
      return value === "" ? [] : [[name, value]]
    })
  )
  const most = given.get("maxTokens") ?? ""
  const request = { ...asked, ...(most !== "" && { maxTokens: Number(most) }) }
  const isAsked = Object.keys(asked).length > 0
  const { loaded } = useLoad(
    async (signal): Promise<Handed | undefined> => {
      if (!isAsked) return undefined
      // Both are the same at the same moment.
      const body = { ...request, now: new Date(now()).toISOString() }
      const [text, parts] = await Promise.all([
        call("POST", "/v1/context", { body, signal }),
        call("POST", "/v1/context", { body: { ...body, format: "json" }, signal })
      ])
      return { text, parts }
    },
    [JSON.stringify(request)]
  )
  return (
    <>
      <QuestionForm query={given.get("query") ?? ""} action="Show context" />
      <Filters names={["agentId", "subjectId", "threadId", "maxTokens"]}>
        <FacetField
          facet="agents"
          label="Agent"
          value={given.get("agentId") ?? ""}
          onValue={(agentId) => change({ agentId })}
        />
        <FacetField
          facet="subjects"
          label="Subject"
          value={given.get("subjectId") ?? ""}
          onValue={(subjectId) => change({ subjectId })}
        />
        <FacetField
          facet="threads"
          label="Thread"
          value={given.get("threadId") ?? ""}
          onValue={(threadId) => change({ threadId })}
        />
        <Field
          label="Tokens at most"
          type="number"
          value={most}
          placeholder="1500"
          onValue={(maxTokens) => change({ maxTokens })}
        />
      </Filters>
      {isAsked ? (
        <Show of={loaded}>{(handed) => handed !== undefined && <HandedOver handed={handed} />}</Show>
      ) : (
        <Stored>
          <section class="card">
            <Empty title="Ask what an agent would ask">
              <p>
                Shown is the text that its prompt gets, for the question, a subject or both, and what each part takes.
              </p>
            </Empty>
          </section>
        </Stored>
      )}
    </>
  )
}

const HandedOver = ({ handed: { parts, text } }: { readonly handed: Handed }) => {
  const sections = (parts.sections ?? []).filter(({ items }) => items.length > 0)
  const { facts, messages } = text.leftOut
  return (
    <div class="beside">
      <div class="stack">
        <section class="card stack" aria-label="Tokens">
          <div class="head">
            <h2>{countOf(text.tokens, "token")}</h2>
            <p class="small">
              {facts + messages === 0
                ? "Nothing was left out for want of room."
                : `Left out for want of room: ${countOf(facts, "fact")}, ${countOf(messages, "message")}.`}
            </p>
          </div>
          <dl class="tokens">
            {sections.map((section) => (
              <TokenBar key={section.name} section={section} total={text.tokens} />
            ))}
          </dl>
        </section>
        {sections.map((section) => (
          <Lines key={section.name} section={section} />
        ))}
      </div>
      <PastedText text={text.text ?? ""} />
    </div>
  )
}

const TokenBar = ({ section: { name, tokens }, total }: { readonly section: Section; readonly total: number }) => (
  <>
    <dt>{name}</dt>
    <dd class="score">
      <span class="bar" aria-hidden="true">
        <i style={{ width: `${total === 0 ? 0 : (100 * tokens) / total}%` }} />
      </span>
      <span class="number">{count(tokens)}</span>
    </dd>
  </>
)

const Lines = ({ section: { items, name } }: { readonly section: Section }) => (
  <section class="card stack tight" aria-label={name}>
    <h3 class="topic">{name}</h3>
    <ul class="stack tight">
      {items.map((item) => (
        <li key={`${item.id} ${item.text}`} class="made">
          <a href={linkTo("memories", { id: item.id })}>
            <UserText of={item.text} />
          </a>
          <span class="meta">
            <span class="badge">{item.kind}</span>
            {item.topic !== undefined && <span>{item.topic}</span>}
            {item.speaker !== undefined && (
              <span>
                said by <UserText of={item.speaker} />
              </span>
            )}
            {item.saidOn !== undefined && <span>on {item.saidOn}</span>}
            {item.since !== undefined && <span>since {item.since}</span>}
            {item.on !== undefined && <span>on {item.on}</span>}
            {item.before !== undefined && (
              <span>
                before: <UserText of={item.before} />
              </span>
            )}
            {item.isAround === true && <span>stands next to what was found</span>}
            {item.grantor !== undefined && <span>shared by {item.grantor}</span>}
          </span>
        </li>
      ))}
    </ul>
  </section>
)

const PastedText = ({ text }: { readonly text: string }) => {
  const shown = useRef<HTMLPreElement>(null)
  return (
    <section class="card stack" aria-label="The text">
      <div class="head">
        <h2>The text</h2>
        {text !== "" && (
          <div class="actions">
            <CopyButton text={text} shown={shown} />
          </div>
        )}
      </div>
      {text === "" ? (
        <p class="muted">Nothing is known: an empty text.</p>
      ) : (
        <pre tabIndex={0} ref={shown}>
          {text}
        </pre>
      )}
    </section>
  )
}
