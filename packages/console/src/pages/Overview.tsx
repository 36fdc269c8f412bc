/** How the service is: what it checks of itself, in words, and the numbers that an operator looks at first. */
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { call, callText } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { type Metrics, parseMetrics, quantile } from "../service/metrics.ts"
import { bytes, count, duration } from "../service/text.ts"
import { Icon } from "../ui/Icon.tsx"
import { Notice, Show } from "../ui/Notice.tsx"

const refreshMillis = 5_000

export const Overview = () => {
  const status = useLoad((signal) => call<ServiceStatus>("GET", "/admin/status", { signal }), [], refreshMillis)
  const metrics = useLoad(async (signal) => parseMetrics(await callText("/metrics", { signal })), [], refreshMillis)
  return (
    <>
      <div class="head">
        <h2>Overview</h2>
        <p class="small">Refreshed every five seconds</p>
      </div>
      <Show of={status.loaded}>
        {(value) => (
          <>
            {value.warnings.map((warning) => (
              <Notice key={warning} tone="warn">
                {warning}
              </Notice>
            ))}
            <Tiles status={value} metrics={metrics.loaded.value} />
            <div class="grid">
              <Checks status={value} />
              <Facts status={value} />
            </div>
          </>
        )}
      </Show>
    </>
  )
}

const Tiles = ({ metrics, status }: { readonly status: ServiceStatus; readonly metrics: Metrics | undefined }) => {
  const requests = metrics?.sum("muniment_http_requests_total")
  const failures = metrics?.sum("muniment_http_requests_total", ({ status: code }) => (code ?? "").startsWith("5"))
  const median = metrics === undefined ? undefined : quantile(metrics, "muniment_http_request_duration_seconds", 0.5)
  const slowest = metrics === undefined ? undefined : quantile(metrics, "muniment_http_request_duration_seconds", 0.99)
  return (
    <dl class="tiles">
      <Tile title="Agents" value={count(status.namespaces.total)} more={`${count(status.namespaces.open)} open`} />
      <Tile title="Requests" value={requests === undefined ? "–" : count(requests)} more="since the start" />
      <Tile title="Server errors" value={failures === undefined ? "–" : count(failures)} more="since the start" />
      <Tile title="Time of a request" value={millis(median)} more={`p99 ${millis(slowest)}`} />
      <Tile
        title="Vectors to make"
        value={count(status.embedding.pending)}
        more={status.embedding.model ?? "words alone"}
      />
      <Tile title="Conversations to read" value={count(status.extraction.pending)} more={status.extraction.reader} />
      <Tile
        title="Free disk"
        value={bytes(status.disk.freeBytes)}
        more={`${bytes(status.disk.ballastBytes)} in reserve`}
      />
    </dl>
  )
}

const millis = (seconds: number | undefined): string =>
  seconds === undefined
    ? "–"
    : seconds < 0.01
      ? `${(seconds * 1_000).toFixed(1)} ms`
      : `${Math.round(seconds * 1_000)} ms`

const Tile = (given: { readonly title: string; readonly value: string; readonly more: string }) => (
  <div class="tile">
    <dt>{given.title}</dt>
    <dd>
      {given.value}
      <div class="small">{given.more}</div>
    </dd>
  </div>
)

interface Check {
  readonly tone: "good" | "warn" | "bad"
  readonly text: string
}

const day = 86_400

/** The checks of `muniment doctor` that need no write. */
const checksOf = (status: ServiceStatus): ReadonlyArray<Check> => [
  status.ready
    ? { tone: "good", text: "The service takes requests." }
    : { tone: "bad", text: "The service is not ready." },
  status.embedding.ready
    ? { tone: "good", text: `Search by meaning works (${status.embedding.model ?? "no model"}).` }
    : { tone: "warn", text: `Search finds words alone: ${status.embedding.detail}.` },
  status.quarantined.length === 0
    ? { tone: "good", text: "Every agent's file is whole." }
    : { tone: "bad", text: `${status.quarantined.length} agents are set aside; System has the reasons.` },
  status.commitLog === null
    ? { tone: "warn", text: "Commits go to the files of the agents; the commit log is off." }
    : status.commitLog.damage.length > 0
      ? { tone: "bad", text: `The commit log has ${status.commitLog.damage.length} damaged records.` }
      : status.commitLog.isFull
        ? { tone: "bad", text: "The disk is full: only deletes are accepted." }
        : { tone: "good", text: `The commit log is whole (${bytes(status.commitLog.bytes)}).` },
  status.backup.ageSeconds === null
    ? { tone: "warn", text: "No backup is known. `muniment backup create --to DIR` makes one." }
    : {
        tone: status.backup.ageSeconds > 2 * day ? "warn" : "good",
        text: `The last backup was made ${duration(status.backup.ageSeconds)} ago.`
      },
  status.scrub.damaged.some(({ isMended }) => !isMended)
    ? { tone: "bad", text: "The last reading of all files found damage that could not be mended." }
    : status.scrub.ageSeconds === null
      ? { tone: "good", text: "All files are being read for the first time." }
      : { tone: "good", text: `All files were read ${duration(status.scrub.ageSeconds)} ago.` },
  status.clockStep === null
    ? { tone: "good", text: "The clock goes on evenly." }
    : { tone: "bad", text: "The clock has jumped: the daily job waits until you confirm the time." },
  ...status.payments.networks.flatMap((network): ReadonlyArray<Check> => {
    if (!network.isReachable) return [{ tone: "bad", text: `${network.network}: no node answers.` }]
    if (!network.isOffered)
      return [{ tone: "bad", text: `${network.network}: the operator's wallet cannot pay the fees.` }]
    return [{ tone: "good", text: `${network.network}: payments are taken.` }]
  }),
  ...(status.payments.oldestOpenSeconds > 600
    ? [
        {
          tone: "warn" as const,
          text: `A payment has had no outcome for ${duration(status.payments.oldestOpenSeconds)}.`
        }
      ]
    : []),
  ...(status.webhooks.failed > 0
    ? [{ tone: "warn" as const, text: `${status.webhooks.failed} messages for the webhook were given up.` }]
    : [])
]

const Checks = ({ status }: { readonly status: ServiceStatus }) => (
  <section class="card">
    <div class="head">
      <h2>Checks</h2>
    </div>
    <ul class="checks">
      {checksOf(status).map(({ text, tone }) => (
        <li key={text}>
          <Icon name={tone} className={`${tone}-ink`} />
          <span>
            <span class="hidden">{tone === "good" ? "Good: " : tone === "warn" ? "Warning: " : "Wrong: "}</span>
            {text}
          </span>
        </li>
      ))}
    </ul>
  </section>
)

const Facts = ({ status }: { readonly status: ServiceStatus }) => (
  <section class="card">
    <div class="head">
      <h2>This service</h2>
    </div>
    <dl class="facts">
      <dt>Version</dt>
      <dd>
        {status.version} on Node {status.node}
      </dd>
      <dt>Data directory</dt>
      <dd class="mono">{status.dataDirectory}</dd>
      <dt>Embedding</dt>
      <dd>{status.embedding.detail}</dd>
      <dt>Vector index</dt>
      <dd>
        {status.index.engine}: {status.index.detail}
      </dd>
      <dt>Reader of conversations</dt>
      <dd>{status.extraction.reader}</dd>
      {status.commitLog !== null && (
        <>
          <dt>Commit log</dt>
          <dd>
            {count(status.commitLog.segments)} segments, {bytes(status.commitLog.bytes)}, ordinals{" "}
            {count(status.commitLog.firstOrdinal)} to {count(status.commitLog.lastOrdinal)}
          </dd>
        </>
      )}
    </dl>
  </section>
)
