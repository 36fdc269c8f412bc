/** A modal form: it stays open with the refusal of the service until what was sent is done. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { Dialog } from "./Dialog.tsx"
import { Refused } from "./Notice.tsx"

export const FormDialog = (given: {
  readonly title: string
  readonly action: string
  readonly isDanger?: boolean
  /** False: the button waits, such as for a name to be typed. */
  readonly isReady?: boolean
  readonly send: () => Promise<unknown>
  /** Afterwards the caller shows what was done. */
  readonly staysOpen?: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  const submit = (event: Event): void => {
    event.preventDefault()
    setRunning(true)
    given.send().then(given.staysOpen === true ? undefined : given.onClose, (cause: unknown) => {
      showError(asApiError(cause))
      setRunning(false)
    })
  }
  return (
    <Dialog title={given.title} onClose={given.onClose}>
      <form class="plain" onSubmit={submit}>
        {given.children}
        {error !== undefined && <Refused error={error} />}
        <div class="actions">
          <button type="button" onClick={given.onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={given.isDanger === true ? "danger primary" : "primary"}
            disabled={isRunning || given.isReady === false}
          >
            {isRunning ? "Working …" : given.action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** An input of a form; its value counts when the form is sent. */
export const Input = (given: {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly hint?: string
  readonly required?: boolean
}) => (
  <label>
    <span>{given.label}</span>
    <input
      type="text"
      value={given.value}
      placeholder={given.hint}
      required={given.required === true}
      autocomplete="off"
      onInput={({ currentTarget: { value } }) => given.onValue(value)}
    />
  </label>
)

export const Check = (given: {
  readonly label: string
  readonly checked: boolean
  readonly onChecked: (checked: boolean) => void
}) => (
  <label class="check">
    <input
      type="checkbox"
      checked={given.checked}
      onChange={({ currentTarget: { checked } }) => given.onChecked(checked)}
    />
    <span>{given.label}</span>
  </label>
)
