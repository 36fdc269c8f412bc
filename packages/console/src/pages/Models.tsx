/** The models at work, how far re-embedding is, and its start. */
import type { ReembedProgress, ServiceStatus } from "@muniment/domain/api/AdminApi"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { duration } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Refused, Show } from "../ui/Notice.tsx"

type Progress = typeof ReembedProgress.Type

export const Models = (given: { readonly status: ServiceStatus; readonly onChanged: () => void }) => {
  const { embedding, extraction, index } = given.status
  const progress = useLoad(
    (signal) => call<Progress>("GET", "/admin/reembed", { signal }),
    [embedding.pending, embedding.ready]
  )
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const start = (): void => {
    call("POST", "/admin/reembed").then(
      () => {
        showError(undefined)
        given.onChanged()
        progress.reload()
      },
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <section class="card stack" aria-label="Models">
      <div class="head">
        <h2>Models</h2>
      </div>
      <dl class="facts">
        <dt>Embedding</dt>
        <dd>
          {embedding.model ?? "none: search by words alone"}{" "}
          <span class={`badge ${embedding.ready ? "good" : "warn"}`}>{embedding.detail}</span>
        </dd>
        <dt>Vectors to make</dt>
        <dd>
          <Show of={progress.loaded}>
            {({ pending, total }) => (
              <>
                {count(pending)} of {count(total)}
              </>
            )}
          </Show>
        </dd>
        <dt>Vector index</dt>
        <dd>
          {index.engine}: {index.detail}
        </dd>
        <dt>Reader of conversations</dt>
        <dd>{extraction.reader}</dd>
        <dt>Conversations to read</dt>
        <dd>
          {count(extraction.pending)}
          {extraction.pending > 0 && `, the oldest for ${duration(extraction.oldestSeconds)}`}
        </dd>
      </dl>
      {error !== undefined && <Refused error={error} />}
      <div class="actions">
        <button type="button" onClick={start}>
          Make missing vectors now
        </button>
      </div>
    </section>
  )
}
