/** Everyone that agents know of, found by name; of one what holds now by topic, since when, from whom, and what held before. */
import type { SubjectProfile } from "@muniment/domain/Context"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { type Everyone, everyone, isCalled } from "../service/people.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { ago } from "../service/text.ts"
import { count, countOfMemories } from "../service/words.ts"
import { memoryChanges } from "../service/undo.ts"
import { Choice, FacetField, Field } from "../ui/Field.tsx"
import { Empty, Notice, Show, Stored } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"
import { Conflicts, type KnownFact } from "./Conflicts.tsx"

type Topic = SubjectProfile["topics"][number]

const shownMax = 200

export const People = () => {
  const given = parameters.value
  const agentId = given.get("agentId") ?? ""
  const chosen = given.get("subjectId") ?? ""
  const { loaded } = useLoad((signal) => everyone(agentId, signal), [agentId, memoryChanges.value])
  return (
    <>
      <div class="head">
        <h2>People</h2>
        <p class="small">Whom memories belong to, over all agents</p>
      </div>
      <Stored>
        <div class={`pages ${chosen === "" ? "" : "chosen"}`}>
          <section class="stack values" aria-label="Everyone">
            <div class="pair">
              <Field label="Name or id" value={given.get("name") ?? ""} onValue={(name) => change({ name })} />
              <FacetField
                facet="agents"
                label="Agent"
                value={agentId}
                onValue={(value) => change({ agentId: value })}
              />
            </div>
            <Choice
              label="Who"
              value={given.get("conflicts") ?? ""}
              options={[
                ["", "everyone"],
                ["only", "of whom facts contradict each other"]
              ]}
              onValue={(conflicts) => change({ conflicts })}
            />
            <Show of={loaded}>{(all) => <Listed all={all} name={given.get("name") ?? ""} chosen={chosen} />}</Show>
          </section>
          {chosen === "" ? (
            <section class="card">
              <Empty title="Choose a person">
                <p>Their page shows what is known of them now, since when, and from where.</p>
              </Empty>
            </section>
          ) : (
            <Profile key={`${chosen} ${agentId}`} subjectId={chosen} agentId={agentId} />
          )}
        </div>
      </Stored>
    </>
  )
}

const Listed = (given: { readonly all: Everyone; readonly name: string; readonly chosen: string }) => {
  const { isWhole, people } = given.all
  const isOfConflicts = parameters.value.get("conflicts") === "only"
  const found = people.filter(isCalled(given.name)).filter(({ conflicts = 0 }) => !isOfConflicts || conflicts > 0)
  return (
    <>
      {!isWhole && (
        <Notice tone="warn">
          There are more than {count(people.length)}; those with the first ids are looked through. Choose an agent.
        </Notice>
      )}
      {found.length === 0 ? (
        <p class="muted">
          {isOfConflicts
            ? "No facts of one person contradict each other."
            : given.name === ""
              ? "No memory names a subject."
              : "Nobody is called so."}{" "}
          {given.name !== "" && <a href={linkTo("search", { query: given.name })}>Search for memories that say so</a>}
        </p>
      ) : (
        <>
          <p class="small muted">
            {count(found.length)} {found.length === 1 ? "person" : "people"}
            {found.length > shownMax && `, the first ${shownMax} are shown`}
          </p>
          <ul class="choices">
            {found.slice(0, shownMax).map(({ conflicts = 0, memories, names, newestAt, subjectId }) => (
              <li key={subjectId}>
                <button type="button" aria-current={subjectId === given.chosen} onClick={() => change({ subjectId })}>
                  <span class="what">
                    <UserText of={names[0] ?? subjectId} />
                  </span>
                  <span class="small muted number">{count(memories)}</span>
                  <span class="small muted">
                    <UserText of={names.length === 0 ? "no name known" : subjectId} /> · {ago(newestAt)}
                    {conflicts > 0 && (
                      <>
                        {" "}
                        <span class="badge warn">{countOfConflicts(conflicts)}</span>
                      </>
                    )}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

const countOfConflicts = (value: number): string => `${count(value)} ${value === 1 ? "conflict" : "conflicts"}`

const Profile = ({ agentId, subjectId }: { readonly agentId: string; readonly subjectId: string }) => {
  const { loaded } = useLoad(
    (signal) => call("GET", `/v1/subjects/${encodeURIComponent(subjectId)}/profile`, { query: { agentId }, signal }),
    [memoryChanges.value]
  )
  return (
    <section class="card stack" aria-label="Profile">
      <Show of={loaded}>
        {({ conflicts, isComplete, names, people, topics, total }) => (
          <>
            <div class="head">
              <h2>
                <UserText of={names[0] ?? subjectId} />
              </h2>
              <div class="actions">
                <a class="button" href={linkTo("subjects", { subjectId })}>
                  By time, export, erase
                </a>
                <a class="button" href={linkTo("context", { subjectId, agentId })}>
                  As context
                </a>
                <button type="button" onClick={() => change({ subjectId: "" })}>
                  Close
                </button>
              </div>
            </div>
            <p class="small muted">
              <UserText of={[subjectId, ...names.slice(1)].join(", ")} /> · {countOfMemories(total)} beside messages
            </p>
            {!isComplete && <Notice tone="warn">There is more than a profile takes: these are the newest.</Notice>}
            {conflicts.length > 0 && (
              <Conflicts conflicts={conflicts} facts={topics.flatMap(({ facts }) => facts)} subjectId={subjectId} />
            )}
            {total === 0 && <p class="muted">Nothing but messages is known.</p>}
            {topics.map((topic) => (
              <TopicFacts key={topic.topic} topic={topic} subjectId={subjectId} />
            ))}
            {people.length > 0 && <Relations people={people} />}
          </>
        )}
      </Show>
    </section>
  )
}

const TopicFacts = ({ subjectId, topic: { facts, topic } }: { readonly topic: Topic; readonly subjectId: string }) => (
  <section class="stack tight" aria-label={topic}>
    <h3 class="topic">{topic}</h3>
    <ul class="stack tight">
      {facts.map((fact) => (
        <FactLine key={fact.id} fact={fact} subjectId={subjectId} />
      ))}
    </ul>
  </section>
)

const FactLine = ({ fact, subjectId }: { readonly fact: KnownFact; readonly subjectId: string }) => {
  const { about, agentId, id, on, since, sourceMessageIds, text, versions } = fact
  return (
    <li class="made">
      <a href={linkTo("memories", { subjectId, id })}>
        <UserText of={text} />
      </a>
      <span class="meta">
        {about !== undefined && (
          <span>
            about <UserText of={about} />
          </span>
        )}
        {on !== undefined && <span>on {on}</span>}
        <span>since {since}</span>
        <span>
          known to <UserText of={agentId} />
        </span>
        {sourceMessageIds.length > 0 && (
          <span>
            from {sourceMessageIds.length === 1 ? "message" : "messages"} <UserText of={sourceMessageIds.join(", ")} />
          </span>
        )}
      </span>
      {versions.length > 0 && (
        <details class="small">
          <summary>What held before</summary>
          <ul>
            {versions.map((version) => (
              <li key={version.id}>
                <a class="superseded" href={linkTo("memories", { subjectId, id: version.id })}>
                  <UserText of={version.text} />
                </a>{" "}
                <span class="muted">since {version.since}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  )
}

const Relations = ({ people }: { readonly people: SubjectProfile["people"] }) => (
  <section class="stack tight" aria-label="People that they name">
    <h3>People that they name</h3>
    <dl class="facts">
      {people.map(({ aliases, name, relations }) => (
        <Named
          key={name}
          name={[name, ...aliases].join(", ")}
          relations={relations.map(({ of, relation }) => (of === undefined ? relation : `${relation} of ${of}`))}
        />
      ))}
    </dl>
  </section>
)

const Named = ({ name, relations }: { readonly name: string; readonly relations: ReadonlyArray<string> }) => (
  <>
    <dt>
      <UserText of={name} />
    </dt>
    <dd dir="auto">
      <UserText of={relations.length === 0 ? "named" : relations.join(", ")} />
    </dd>
  </>
)
