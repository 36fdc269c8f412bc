/** Kinds of memories: which there are and how many memories each has; one beside them, to read, try and change. */
import { useState } from "preact/hooks"
import { facetsOf, type Schema, schemasOf } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { change, parameters } from "../service/route.ts"
import { count } from "../service/words.ts"
import { Empty, Show } from "../ui/Notice.tsx"
import { NewSchema, SchemaPage } from "./SchemaPage.tsx"

const kindsMax = 1_000

interface Loaded {
  readonly schemas: ReadonlyArray<Schema>
  readonly counts: ReadonlyMap<string, number>
}

const load = async (signal: AbortSignal): Promise<Loaded> => {
  const [schemas, kinds] = await Promise.all([
    schemasOf(signal),
    facetsOf("kinds", { includeSuperseded: true, limit: kindsMax }, signal)
  ])
  return { schemas, counts: new Map(kinds.values.map(({ memories, value }) => [value, memories])) }
}

export const Schemas = () => {
  const name = parameters.value.get("name") ?? undefined
  const [round, setRound] = useState(0)
  const { loaded } = useLoad(load, [round])
  const reload = () => setRound((value) => value + 1)
  return (
    <>
      <div class="head">
        <h2>Schemas</h2>
        <div class="actions">
          {name !== undefined && (
            <button type="button" onClick={() => change({ name: "" })}>
              New schema
            </button>
          )}
        </div>
      </div>
      <Show of={loaded}>
        {({ counts, schemas }) => {
          const chosen = schemas.find((schema) => schema.name === name)
          return (
            <div class={`pages ${chosen === undefined ? "" : "chosen"}`}>
              <Names schemas={schemas} counts={counts} current={chosen?.name} />
              {chosen === undefined ? (
                <NewSchema
                  onDone={(made) => {
                    reload()
                    change({ name: made })
                  }}
                />
              ) : (
                <SchemaPage
                  key={chosen.name}
                  schema={chosen}
                  memories={counts.get(chosen.name) ?? 0}
                  onChanged={reload}
                />
              )}
            </div>
          )
        }}
      </Show>
    </>
  )
}

const Names = (given: Loaded & { readonly current: string | undefined }) => {
  const group = (isBuiltin: boolean) => given.schemas.filter(({ builtin }) => (builtin ?? false) === isBuiltin)
  return (
    <section class="stack values" aria-label="All schemas">
      {group(false).length === 0 && (
        <Empty title="No schema is registered">
          <p>The built-in kinds below need no registration.</p>
        </Empty>
      )}
      {[false, true].map((isBuiltin) =>
        group(isBuiltin).length === 0 ? null : (
          <div key={String(isBuiltin)} class="stack">
            <h3>{isBuiltin ? "Built in" : "Registered"}</h3>
            <ul class="choices">
              {group(isBuiltin).map(({ name, uniqueOn = [] }) => (
                <li key={name}>
                  <button type="button" aria-current={name === given.current} onClick={() => change({ name })}>
                    <span class="what">{name}</span>
                    <span class="small muted number">{count(given.counts.get(name) ?? 0)}</span>
                    <span class="small muted">{uniqueOn.length > 0 && `unique on ${uniqueOn.join(", ")}`}</span>
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )
      )}
    </section>
  )
}
