/**
 * Facts that only the browser has: the time, timers, random names, light or dark. The one module of the console that asks
 * for them.
 */
import { signal } from "@preact/signals"

export const now = (): number => Date.now()

/** Ends with the function that it gives. */
export const after = (millis: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, millis)
  return () => clearTimeout(timer)
}

/** While the page is looked at; ends with the function that it gives. */
export const every = (millis: number, run: () => void): (() => void) => {
  const timer = setInterval(() => document.visibilityState === "visible" && run(), millis)
  return () => clearInterval(timer)
}

/** For an `Idempotency-Key`. */
export const newKey = (): string => crypto.randomUUID()

/** Before the browser draws next; ends with the function that it gives. */
export const nextFrame = (run: () => void): (() => void) => {
  const frame = requestAnimationFrame(run)
  return () => cancelAnimationFrame(frame)
}

/** Fails once the signal ends it. */
export const pause = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const cancel = after(millis, resolve)
    signal.addEventListener("abort", () => {
      cancel()
      reject(signal.reason)
    })
  })

interface FilePicker {
  readonly showSaveFilePicker?: (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>
}

/** A file of the reader's choice, written as its parts come. Undefined: this browser has none; null: none was chosen. */
export const writableFile = async (name: string): Promise<FileSystemWritableFileStream | null | undefined> => {
  const { showSaveFilePicker } = window as FilePicker
  if (showSaveFilePicker === undefined) return undefined
  try {
    return await (await showSaveFilePicker({ suggestedName: name })).createWritable()
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") return null
    throw cause
  }
}

/** Lets the reader keep a text, or the parts of one, as a file. */
export const save = (name: string, text: string | ReadonlyArray<string>): void => {
  const url = URL.createObjectURL(new Blob([text].flat(), { type: "application/x-ndjson" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  after(saveMillis, () => URL.revokeObjectURL(url))
}

/** The browser has read the text by then. */
const saveMillis = 60_000

const key = "muniment.theme"
const chosen = localStorage.getItem(key)
const system = matchMedia("(prefers-color-scheme: dark)")

/** Light or dark: as the system says, unless this browser chose. */
export const theme = signal<"light" | "dark">(
  chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light"
)

export const applyTheme = (): void => {
  document.documentElement.dataset["theme"] = theme.value
}

system.addEventListener("change", ({ matches }) => {
  if (localStorage.getItem(key) !== null) return
  theme.value = matches ? "dark" : "light"
  applyTheme()
})

export const switchTheme = (): void => {
  theme.value = theme.value === "dark" ? "light" : "dark"
  localStorage.setItem(key, theme.value)
  applyTheme()
}
