/** Notices in words: failure, success, waiting, nothing there. */
import type { ComponentChildren } from "preact"
import type { ApiError } from "../service/api.ts"
import { pageOf } from "../service/knowledge.ts"
import { type Loaded, useLoad } from "../service/load.ts"
import { otherAccounts } from "../service/session.ts"
import { duration } from "../service/text.ts"
import { sentence } from "../service/words.ts"

export const Notice = (given: { readonly tone?: "good" | "warn" | "bad"; readonly children: ComponentChildren }) => (
  <div class={`notice ${given.tone ?? ""}`} role={given.tone === "bad" ? "alert" : "status"}>
    <div>{given.children}</div>
  </div>
)

/** A message of the service as a sentence; what it has in backticks as code. */
export const Said = ({ message }: { readonly message: string }) => (
  <>
    {sentence(message)
      .split("`")
      .map((part, at) => (at % 2 === 0 ? part : <code key={part}>{part}</code>))}
  </>
)

/** A refusal of the service, with its details and what to do about it. */
export const Refused = ({ error }: { readonly error: ApiError }) => (
  <Notice tone="bad">
    <strong>{titleOf(error)}</strong> <Said message={error.message} />
    {error.details.length > 0 && (
      <ul>
        {error.details.map((detail) => (
          <li key={detail}>
            <Said message={detail} />
          </li>
        ))}
      </ul>
    )}
    <div class="small muted">
      {error.code}
      {error.retryAfter !== undefined && ` · try again in ${duration(error.retryAfter)}`}
      {error.requestId !== undefined && ` · request ${error.requestId}`}
    </div>
  </Notice>
)

const titles: Readonly<Record<number, string>> = {
  0: "No answer.",
  401: "Not signed in (401).",
  402: "Payment needed (402).",
  403: "Not allowed (403).",
  404: "Not found (404).",
  409: "Conflict (409).",
  412: "Changed meanwhile (412).",
  413: "Too large (413).",
  429: "Too many requests (429).",
  503: "Busy (503).",
  507: "The disk is full (507)."
}

const titleOf = ({ code, status }: ApiError): string =>
  code === "model_unavailable" ? "The language model gave no answer." : (titles[status] ?? `Refused (${status}).`)

export const Waiting = ({ what = "Loading" }: { readonly what?: string }) => (
  <div class="empty" role="status">
    <span class="spinner" aria-hidden="true" />
    {what} …
  </div>
)

export const Empty = (given: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{given.title}</h2>
    {given.children}
  </div>
)

/** The value once it is there; a failure beside what was there before. */
export const Show = <A,>(given: { readonly of: Loaded<A>; readonly children: (value: A) => ComponentChildren }) => {
  const { of: loaded } = given
  if (loaded.state === "failed") {
    return (
      <>
        <Refused error={loaded.error} />
        {loaded.value !== undefined && given.children(loaded.value)}
      </>
    )
  }
  if (loaded.value === undefined) return <Waiting />
  return <>{given.children(loaded.value)}</>
}

/**
 * A page that shows nothing until something is stored: until then the one way to begin.
 *
 * `children` while the number of memories is not known, or cannot be.
 */
export const Stored = ({ children }: { readonly children: ComponentChildren }) => {
  const { loaded } = useLoad((signal) => pageOf({ limit: 1 }, signal), [])
  return loaded.value?.total === 0 ? (
    <section class="card">
      <NothingStored />
    </section>
  ) : (
    <>{children}</>
  )
}

export const NothingStored = () => (
  <Empty title="Nothing is stored yet">
    <p>
      This account has stored nothing yet: <code>POST /v1/memories</code> stores the first memory, and{" "}
      <a href="/docs">API and handbook</a> show how. {otherAccounts()}
    </p>
  </Empty>
)
