/**
 * What was changed last, above the page, until it is taken back, closed, or something else is changed. That it was taken
 * back is said for some seconds, and not beyond the page.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import type { ApiError } from "../service/api.ts"
import { after } from "../service/browser.ts"
import { asApiError } from "../service/load.ts"
import { account, page } from "../service/route.ts"
import { changed, type Offer, offered } from "../service/undo.ts"
import { Icon } from "./Icon.tsx"
import { Refused } from "./Notice.tsx"

const saidMillis = 10_000

export const UndoOffer = () => {
  const offer = offered.value
  const [done, setDone] = useState<string | undefined>(undefined)
  useEffect(() => {
    if (offer !== undefined) setDone(undefined)
  }, [offer])
  useEffect(() => setDone(undefined), [page.value, account.value])
  useEffect(() => (done === undefined ? undefined : after(saidMillis, () => setDone(undefined))), [done])
  if (offer === undefined && done === undefined) return null
  return (
    <section class="offer" aria-label="Last change">
      {offer === undefined ? (
        <>
          <p role="status">{done}</p>
          <CloseButton hasFocus onClose={() => setDone(undefined)} />
        </>
      ) : (
        <Offered key={offer} offer={offer} onDone={() => setDone(`Taken back: ${offer.text}`)} />
      )}
    </section>
  )
}

const Offered = ({ offer, onDone }: { readonly offer: Offer; readonly onDone: () => void }) => {
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  const takeBack = (): void => {
    setRunning(true)
    offer.takeBack().then(
      () => {
        // Another account may be looked at by now, or another change offered.
        if (offered.value !== offer) return changed(offered.value)
        onDone()
        return changed()
      },
      (cause: unknown) => {
        showError(asApiError(cause))
        setRunning(false)
      }
    )
  }
  return (
    <>
      <p role="status">{offer.text}</p>
      <button type="button" disabled={isRunning} onClick={takeBack}>
        {isRunning ? "Working …" : "Take back"}
      </button>
      <CloseButton onClose={() => (offered.value = undefined)} />
      {error !== undefined && <Refused error={error} />}
    </>
  )
}

/** The focus is not lost with the button that was pressed. */
const CloseButton = ({ hasFocus, onClose }: { readonly hasFocus?: boolean; readonly onClose: () => void }) => {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (hasFocus === true) button.current?.focus()
  }, [])
  return (
    <button type="button" class="plain" ref={button} onClick={onClose}>
      <Icon name="close" /> <span class="hidden">Close the notice</span>
    </button>
  )
}
