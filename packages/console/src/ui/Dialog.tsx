/**
 * A modal question. What destroys shows first what it would do (`preview`), and its button works once that is known.
 */
import type { ComponentChildren, RefObject } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { Icon } from "./Icon.tsx"
import { Refused, Waiting } from "./Notice.tsx"

export const Dialog = (given: {
  readonly title: string
  readonly onClose: () => void
  /** It shows what is shown only once, or waits for what was sent: no Escape takes it away. */
  readonly isKept?: boolean
  readonly children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  const isKept = useRef(false)
  isKept.current = given.isKept === true
  useLayoutEffect(() => {
    const { current } = dialog
    current?.showModal()
    // A browser lets a page keep a dialog open once, and closes it at the second Escape, unless the key itself is taken:
    // wherever it is pressed, as the focus is nowhere once the button that had it is disabled.
    const keep = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && isKept.current) event.preventDefault()
    }
    document.addEventListener("keydown", keep)
    return () => {
      document.removeEventListener("keydown", keep)
      isGone.current = true
      // The browser gives the focus back to what opened it.
      current?.close()
    }
  }, [])
  /** Escape: at once, before the browser closes it and tells of that later, when it may have been opened anew. */
  const cancel = (event: Event): void => {
    event.preventDefault()
    if (!isKept.current) given.onClose()
  }
  return (
    <dialog ref={dialog} onCancel={cancel} onClose={() => !isGone.current && given.onClose()} aria-label={given.title}>
      <div class="body">
        <h2>{given.title}</h2>
        {given.children}
      </div>
    </dialog>
  )
}

interface Asked {
  readonly title: string
  readonly action: string
  /** False: the button waits, such as for a name to be typed. */
  readonly isReady?: boolean
  /** Afterwards the caller shows what was done. */
  readonly staysOpen?: boolean
  readonly onClose: () => void
}

/** Closes once it is done; a refusal is shown, and it may be tried again. */
const useSending = ({ onClose, staysOpen }: Asked) => {
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  const fail = (cause: unknown): void => showError(asApiError(cause))
  const start = (sent: () => Promise<unknown>): void => {
    setRunning(true)
    sent().then(staysOpen === true ? undefined : onClose, (cause: unknown) => {
      fail(cause)
      setRunning(false)
    })
  }
  return { error, fail, isRunning, start }
}

const Actions = (
  given: Asked & {
    readonly isDanger: boolean
    readonly isRunning: boolean
    /** Absent: the button submits its form. */
    readonly onAction?: () => void
  }
) => (
  <div class="actions">
    {/* What was sent cannot be called back: its outcome is waited for and shown. */}
    <button type="button" disabled={given.isRunning} onClick={given.onClose}>
      Cancel
    </button>
    <button
      type={given.onAction === undefined ? "submit" : "button"}
      class={given.isDanger ? "danger primary" : "primary"}
      disabled={given.isRunning || given.isReady === false}
      onClick={given.onAction}
    >
      {given.isRunning ? "Working …" : given.action}
    </button>
  </div>
)

export const Confirm = <A,>(
  given: Asked & {
    /** Effect of the action, by its dry run. */
    readonly preview: () => Promise<A>
    readonly describe: (preview: A) => ComponentChildren
    readonly run: (preview: A) => Promise<void>
    /** Typed first, in any case of its letters, before what nothing brings back. */
    readonly word?: string
  }
) => {
  const { word } = given
  const [preview, showPreview] = useState<A | undefined>(undefined)
  const [typed, setTyped] = useState("")
  const isTyped = word === undefined || typed.trim().toLowerCase() === word
  const { error, fail, isRunning, start } = useSending(given)
  useEffect(() => {
    given.preview().then(showPreview, fail)
  }, [])
  return (
    <Dialog title={given.title} onClose={given.onClose} isKept={isRunning}>
      {preview === undefined
        ? error === undefined && <Waiting what="Looking what it would do" />
        : given.describe(preview)}
      {preview !== undefined && word !== undefined && (
        <Input label={`Type ${word} to go on`} value={typed} onValue={setTyped} />
      )}
      {error !== undefined && <Refused error={error} />}
      <Actions
        {...given}
        isDanger
        isReady={preview !== undefined && isTyped && given.isReady !== false}
        isRunning={isRunning}
        onAction={() => preview !== undefined && start(() => given.run(preview))}
      />
    </Dialog>
  )
}

/** A modal form: it stays open with the refusal of the service until what was sent is done. */
export const FormDialog = (
  given: Asked & {
    readonly isDanger?: boolean
    readonly send: () => Promise<unknown>
    readonly children: ComponentChildren
  }
) => {
  const { error, isRunning, start } = useSending(given)
  const submit = (event: Event): void => {
    event.preventDefault()
    start(given.send)
  }
  return (
    <Dialog title={given.title} onClose={given.onClose} isKept={isRunning}>
      <form class="plain" onSubmit={submit}>
        {given.children}
        {error !== undefined && <Refused error={error} />}
        <Actions {...given} isDanger={given.isDanger === true} isRunning={isRunning} />
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
      dir="auto"
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

/**
 * One thing beside a list; over it on a narrow screen, where it takes the focus. Escape closes it, from anywhere but a
 * dialog, or a field outside that Escape empties.
 */
export const SidePanel = (given: {
  readonly label: string
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const panel = useRef<HTMLElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const onClose = useRef(given.onClose)
  onClose.current = given.onClose
  const close = (): void => onClose.current()
  useFocusReturn(panel)
  useEffect(() => {
    const { current } = panel
    if (current === null) return undefined
    if (getComputedStyle(current).position === "fixed") button.current?.focus()
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as Element
      const isTyped = !current.contains(target) && target.closest("input, select, textarea") !== null
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null && !isTyped) close()
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  }, [])
  return (
    <aside ref={panel} class="card panel stack" aria-label={given.label}>
      <div class="head">
        <h2>{given.title}</h2>
        <button type="button" class="plain" ref={button} onClick={close}>
          <Icon name="close" /> <span class="hidden">Close</span>
        </button>
      </div>
      {given.children}
    </aside>
  )
}

/** Focus comes back to where it was when the part goes away, unless it has gone on outside of the part meanwhile. */
const useFocusReturn = (part: RefObject<HTMLElement | null>): void => {
  useLayoutEffect(() => {
    const before = document.activeElement
    const own = part.current
    return () => {
      const now = document.activeElement
      const isLost = now === null || now === document.body || own?.contains(now) === true
      if (isLost && before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
}
