/** Backups that the service makes by itself: the last, the next, what lies where they go; made and proved on demand. */
import type { BackupListed, BackupState } from "@muniment/domain/api/UpkeepAdminApi"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { may } from "../service/session.ts"
import { ago, bytes, duration, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { type Column, Fact, GrowingTable } from "../ui/Table.tsx"

type Listed = typeof BackupListed.Type

const refreshMillis = 2_000

export const Backups = () => {
  const { loaded, reload } = useLoad((signal) => call("GET", "/admin/backups", { signal }), [], refreshMillis)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const begin = (path: "/admin/backups/runs" | "/admin/backups/verifications"): void => {
    call("POST", path).then(
      () => {
        showError(undefined)
        reload()
      },
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <section class="stack">
      <Show of={loaded}>
        {(state) => (
          <>
            <Warnings state={state} />
            {error !== undefined && <Refused error={error} />}
            <div class="grid">
              <section class="card stack" aria-label="Backups">
                <div class="head">
                  <h2>Backups</h2>
                </div>
                <StateFacts state={state} />
                {state.to !== null && may("backups.run") && (
                  <div class="actions">
                    <button
                      type="button"
                      class="primary"
                      disabled={state.running !== null}
                      onClick={() => begin("/admin/backups/runs")}
                    >
                      Back up now
                    </button>
                    <button
                      type="button"
                      disabled={state.running !== null || state.backups.length === 0}
                      onClick={() => begin("/admin/backups/verifications")}
                    >
                      Verify the newest
                    </button>
                  </div>
                )}
                <Outcomes state={state} />
              </section>
              <Restoring state={state} />
            </div>
            {state.to !== null && (
              <GrowingTable
                label="Complete backups"
                columns={columns}
                rows={state.backups}
                keyOf={({ id }) => id}
                empty="No complete backup lies there."
              />
            )}
          </>
        )}
      </Show>
    </section>
  )
}

const hourMillis = 3_600_000

const Warnings = ({ state: { everyHours, lastAt, to } }: { readonly state: BackupState }) => {
  if (lastAt === null) {
    return (
      <Notice tone="bad">
        <strong>No backup was ever made of this service.</strong> What is lost with its disk is lost.
      </Notice>
    )
  }
  const late = everyHours !== null && now() - lastAt > 2 * everyHours * hourMillis
  if (late)
    return (
      <Notice tone="bad">The last backup is {ago(lastAt).replace(" ago", "")} old: more than two are missing.</Notice>
    )
  return to === null ? (
    <Notice tone="warn">The service makes no backup by itself; the last one was made from outside.</Notice>
  ) : null
}

const StateFacts = ({ state }: { readonly state: BackupState }) => (
  <dl class="facts">
    <Fact name="Last one">
      {state.lastAt === null ? "none is known" : `begun ${ago(state.lastAt)}, ${moment(state.lastAt)}`}
    </Fact>
    <Fact name="Next one">
      {state.everyHours === null
        ? "by no schedule of the service"
        : `${state.nextAt !== null && state.nextAt > now() ? moment(state.nextAt) : "due now"}, every ${count(state.everyHours)} h`}
    </Fact>
    <Fact name="Where they lie">
      {state.to === null ? (
        <>
          nowhere: set <code>MUNIMENT_BACKUP_TO</code>, or run <code>muniment backup create --to PLACE</code> by a timer
        </>
      ) : (
        <span class="mono">{state.to}</span>
      )}
    </Fact>
    {state.to !== null && (
      <>
        <Fact name="Kept">{`the newest ${count(state.keep)}`}</Fact>
        <Fact name="Sealed">{state.isSealed ? "by a passphrase" : "no: keys and memories lie in the clear"}</Fact>
      </>
    )}
  </dl>
)

/** Read out as it changes, and nothing else: it says no time that goes on. */
const Outcomes = ({ state: { lastRun, lastVerify, running } }: { readonly state: BackupState }) => (
  <div class="stack tight" aria-live="polite">
    {running !== null && (
      <p role="status">
        <span class="spinner" aria-hidden="true" /> {running.step === "backup" ? "Backing up" : "Verifying"}
        <span aria-hidden="true">, for {duration((now() - running.startedAt) / 1_000)} …</span>
      </p>
    )}
    {lastRun !== null && (
      <Notice tone={lastRun.problem === null ? "good" : "bad"}>
        {lastRun.id === null
          ? "No backup was made"
          : `Backup ${lastRun.id}: ${count(lastRun.copiedFiles)} files copied (${bytes(lastRun.copiedBytes)})`}
        {`, ${moment(lastRun.finishedAt)}. ${lastRun.problem ?? ""}`}
      </Notice>
    )}
    {lastVerify !== null && (
      <Notice tone={lastVerify.problem === null ? "good" : "bad"}>
        {lastVerify.problem === null
          ? `Verified ${moment(lastVerify.at)}: all ${count(lastVerify.files)} files of ${lastVerify.id} can be restored; memories and ledger are whole.`
          : `Not verified, ${moment(lastVerify.at)}. ${lastVerify.problem}`}
        {lastVerify.faults.length > 0 && (
          <ul>
            {lastVerify.faults.map(({ file, reason }) => (
              <li key={file}>
                <span class="mono">{file}</span>: {reason}
              </li>
            ))}
          </ul>
        )}
      </Notice>
    )}
  </div>
)

/** A running service cannot take another data directory: it is restored beside it, and started in its place. */
const Restoring = ({ state: { backups, isSealed, to } }: { readonly state: BackupState }) => {
  const sealed = isSealed ? " --passphrase-file FILE" : ""
  const chosen = backups[0] === undefined ? "" : ` --backup ${backups[0].id}`
  return (
    <section class="card stack" aria-label="Restore">
      <div class="head">
        <h2>Restore</h2>
      </div>
      <p>
        A backup is restored into an empty directory, beside a service that runs. Then the service is stopped, and
        started with <code>MUNIMENT_DATA_DIR</code> set to that directory.
      </p>
      <pre
        tabIndex={0}
      >{`npm run muniment -- restore --from ${quoted(to ?? "PLACE")} --to restored${chosen}${sealed}`}</pre>
      <p class="small muted">
        <code>--until</code> and a time restore that moment. Erasures after the backup have to be repeated.
      </p>
    </section>
  )
}

/** For a shell. */
const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const columns: ReadonlyArray<Column<Listed>> = [
  { title: "Backup", cell: ({ id }) => <span class="mono">{id}</span> },
  {
    title: "Begun",
    by: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => <span class="nowrap">{moment(startedAt)}</span>
  },
  {
    title: "Took",
    isNumber: true,
    by: ({ finishedAt, startedAt }) => finishedAt - startedAt,
    cell: ({ finishedAt, startedAt }) => duration((finishedAt - startedAt) / 1_000)
  },
  { title: "Files", isNumber: true, by: ({ files }) => files, cell: ({ files }) => count(files) },
  { title: "Size", isNumber: true, by: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
  { title: "Older copies", isNumber: true, cell: ({ stale }) => count(stale.length) },
  { title: "Release", cell: ({ release }) => release }
]
