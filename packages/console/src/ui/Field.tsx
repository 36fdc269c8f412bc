/** Labelled inputs that give their value after a pause in typing. */
import { useEffect, useRef } from "preact/hooks"
import { after } from "../service/browser.ts"
import { useDraft } from "./draft.ts"

const pauseMillis = 250

export const Field = (given: {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: "text" | "number" | "date"
  readonly placeholder?: string
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
}) => (
  <label>
    <span>{given.label}</span>
    <select value={given.value} onChange={({ currentTarget: { value } }) => given.onValue(value as A)}>
      {given.options.map(([value, text]) => (
        <option key={value} value={value} selected={value === given.value}>
          {text}
        </option>
      ))}
    </select>
  </label>
)
