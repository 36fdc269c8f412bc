/** Labelled inputs that give their value after a pause in typing. */
import { useEffect, useRef, useLayoutEffect, useState } from "preact/hooks"
import type { FacetName } from "@muniment/domain/Search"
import type { ComponentChildren } from "preact"
import type { ApiError } from "../service/api.ts"
import { after } from "../service/browser.ts"
import { facetsOf } from "../service/knowledge.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { applyFilter, chosenFilter, forgetFilter, saveFilter, savedFilters, setValues } from "../service/filters.ts"
import { parameters, change, page } from "../service/route.ts"
import { count } from "../service/words.ts"
import { FormDialog, Input } from "./Dialog.tsx"
import { Icon } from "./Icon.tsx"
import { Refused } from "./Notice.tsx"

const pauseMillis = 250

export const Field = (given: {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: "text" | "number" | "date"
  readonly placeholder?: string | undefined
  readonly suggestions?: ReadonlyArray<string>
  readonly onFocus?: () => void
  readonly required?: boolean
  /** Takes the place of two: for ids. */
  readonly isWide?: boolean
}) => {
  const [text, setText] = useDraft(given.value)
  const cancel = useRef(() => undefined as void)
  useEffect(() => () => cancel.current(), [])
  const listId = given.suggestions === undefined ? undefined : `list-${given.label.replaceAll(" ", "-")}`
  return (
    <label class={given.isWide === true ? "wide" : undefined}>
      <span>{given.label}</span>
      <input
        type={given.type ?? "text"}
        dir="auto"
        value={text}
        placeholder={given.placeholder}
        list={listId}
        autocomplete="off"
        required={given.required === true}
        onFocus={() => given.onFocus?.()}
        onInput={({ currentTarget: { value } }) => {
          setText(value)
          cancel.current()
          cancel.current = after(pauseMillis, () => given.onValue(value))
        }}
      />
      {listId !== undefined && (
        <datalist id={listId}>
          {given.suggestions?.map((item) => (
            <option key={item} value={item} />
          ))}
        </datalist>
      )}
    </label>
  )
}

export const Choice = <A extends string>(given: {
  readonly label: string
  readonly value: A
  readonly options: ReadonlyArray<readonly [value: A, text: string]>
  readonly onValue: (value: A) => void
  /** Where what stands beside it says it too. */
  readonly isLabelHidden?: boolean
}) => (
  <label>
    <span class={given.isLabelHidden === true ? "hidden" : undefined}>{given.label}</span>
    <select value={given.value} onChange={({ currentTarget: { value } }) => given.onValue(value as A)}>
      {given.options.map(([value, text]) => (
        <option key={value} value={value} selected={value === given.value}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

/**
 * Text that is being typed for a value that comes from elsewhere; reset when that value changes.
 * Set before the field can be typed into: an effect after the first frame would take back what was typed until then.
 */
export const useDraft = (value: string): [text: string, setText: (text: string) => void] => {
  const [text, setText] = useState(value)
  useLayoutEffect(() => setText(value), [value])
  return [text, setText]
}

const offeredMax = 200

/** A filter by a value that memories have: those with most memories are offered once somebody is about to type. */
export const FacetField = (given: {
  readonly facet: FacetName
  readonly label: string
  readonly placeholder?: string
  readonly value: string
  readonly onValue: (value: string) => void
}) => {
  const [isAsked, ask] = useState(false)
  const { loaded } = useLoad(
    (signal) => (isAsked ? facetsOf(given.facet, { limit: offeredMax }, signal) : Promise.resolve(undefined)),
    [isAsked]
  )
  return (
    <Field
      label={given.label}
      placeholder={given.placeholder}
      value={given.value}
      onValue={given.onValue}
      onFocus={() => ask(true)}
      suggestions={(loaded.value?.values ?? []).map(({ value }) => value)}
    />
  )
}

/**
 * The filters of a page. In a narrow window they are behind a button that says how many are set, so that what was found
 * stands first.
 */
export const Filters = (given: {
  /** Names of the parameters that they set. */
  readonly names: ReadonlyArray<string>
  /** Buttons beside them, which stay in view. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const [isOpen, setOpen] = useState(false)
  const set = given.names.filter((name) => (parameters.value.get(name) ?? "") !== "").length
  return (
    <section class={given.actions === undefined ? "filters" : "filters with-actions"} aria-label="Filters">
      <button type="button" class="filters-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="filter" /> Filters{set > 0 && `, ${count(set)} set`}
      </button>
      <div class={isOpen ? "facets open" : "facets"}>
        {given.children}
        <SavedFilters names={given.names} />
      </div>
      {given.actions !== undefined && <div class="actions">{given.actions}</div>}
    </section>
  )
}

/** Filters under a name of one's own: chosen, saved, deleted. Nothing where none is set and none was saved. */
const SavedFilters = ({ names }: { readonly names: ReadonlyArray<string> }) => {
  const [isSaving, setSaving] = useState(false)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const attempt = (what: () => void): void => {
    try {
      what()
      showError(undefined)
    } catch (cause) {
      showError(asApiError(cause))
    }
  }
  const place = `${page.value} ${names.join(" ")}`
  const saved = savedFilters(place)
  const values = setValues(names)
  const chosen = chosenFilter()
  const known = saved.find(({ name }) => name === chosen)
  const isSet = Object.keys(values).length > 0
  const isSame = known !== undefined && names.every((name) => known.values[name] === values[name])
  if (saved.length === 0 && !isSet) return null
  const namedBy = known === undefined ? "of a link" : "changed"
  return (
    <>
      {(saved.length > 0 || chosen !== "") && (
        <Choice
          label="Saved filters"
          value={chosen}
          options={[
            ["", "none"],
            ...saved.map(({ name }) => [name, name === chosen && !isSame ? `${name}, ${namedBy}` : name] as const),
            ...(chosen !== "" && known === undefined ? [[chosen, `${chosen}, ${namedBy}`] as const] : [])
          ]}
          onValue={(name) => applyFilter(names, name, saved.find((one) => one.name === name)?.values ?? {})}
        />
      )}
      <div class="actions">
        {isSet && known !== undefined && !isSame && (
          <button type="button" onClick={() => attempt(() => saveFilter({ place, name: chosen, values }))}>
            Update <span class="hidden">the saved filter {chosen}</span>
          </button>
        )}
        {isSet && !isSame && (
          <button type="button" onClick={() => setSaving(true)}>
            {known === undefined ? "Save filters …" : "Save as …"}
          </button>
        )}
        {known !== undefined && (
          <button
            type="button"
            aria-label={`Delete the saved filter ${chosen}`}
            onClick={() => attempt(() => forgetFilter(place, chosen))}
          >
            Delete
          </button>
        )}
      </div>
      {error !== undefined && <Refused error={error} />}
      {isSaving && (
        <SaveFilter
          place={place}
          values={values}
          name={known === undefined ? chosen : ""}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  )
}

const SaveFilter = (given: {
  readonly place: string
  readonly values: Readonly<Record<string, string>>
  readonly name: string
  readonly onClose: () => void
}) => {
  const { onClose, place, values } = given
  const [name, setName] = useState(given.name)
  return (
    <FormDialog
      title="Save these filters"
      action="Save"
      isReady={name.trim() !== ""}
      send={async () => saveFilter({ place, name: name.trim(), values })}
      onClose={onClose}
    >
      <Input label="Name" value={name} onValue={setName} required />
      <p class="small muted">This browser keeps them. The address of the page has them too: a link carries them.</p>
    </FormDialog>
  )
}

export const givenPeriod = () => ({
  from: parameters.value.get("from") ?? undefined,
  to: parameters.value.get("to") ?? undefined
})

/** The first and the last day of a period, as the address has them. */
export const PeriodFields = () => {
  const { from, to } = givenPeriod()
  return (
    <>
      <Field label="From" type="date" value={from ?? ""} onValue={(day) => change({ from: day })} />
      <Field label="To" type="date" value={to ?? ""} onValue={(day) => change({ to: day })} />
    </>
  )
}
