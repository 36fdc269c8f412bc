/** State of the service: its own checks, in words, and the numbers that an operator looks at first. */
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { Series, RequestRecord } from "@muniment/domain/Operations"
import type { ComponentChildren } from "preact"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { modelProblemText } from "../service/operator.ts"
import { linkTo } from "../service/route.ts"
import { accountCount } from "../service/session.ts"
import { bytes, decimal, duration, millis, shownIf, ago, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Icon } from "../ui/Icon.tsx"
import { Notice, Show } from "../ui/Notice.tsx"
import { Charts, getSeries } from "./Charts.tsx"
import { Table, Fact } from "../ui/Table.tsx"
import { chainProblemText } from "./PaymentPanel.tsx"

const refreshMillis = 5_000

export const Overview = () => {
  const status = useLoad((signal) => call("GET", "/admin/status", { signal }), [], refreshMillis)
  const series = useLoad((signal) => getSeries("hour", signal, minutesOfHour), [], refreshMillis)
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
                {warning.charAt(0).toUpperCase() + warning.slice(1)}.
              </Notice>
            ))}
            {checksOf(value)
              .filter(({ tone }) => tone === "bad")
              .map(({ more, text }) => (
                <Notice key={text} tone="bad">
                  {more === undefined ? text : <a href={more}>{text}</a>}
                </Notice>
              ))}
            <Tiles status={value} series={series.loaded.value} />
            <Charts of="service" first="hour" />
            <LastWrites refreshMillis={refreshMillis} />
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

/** Steps of a minute: the last whole one is what "now" means. */
const minutesOfHour = 60

const Tiles = ({ series, status }: { readonly status: ServiceStatus; readonly series: Series | undefined }) => {
  const points = series?.points ?? []
  const latest = points.at(-1)
  const lastCalled = points.findLast(({ p50Millis }) => p50Millis !== null)
  const calls = points.slice(-2).reduce((total, point) => total + point.calls, 0)
  const seconds = series === undefined || latest === undefined ? 0 : (series.to - (points.at(-2) ?? latest).at) / 1_000
  const errors = points.reduce((total, point) => total + point.errors, 0)
  const refused = points.reduce((total, point) => total + point.refused, 0)
  return (
    <dl class="tiles">
      <Tile
        title="Memories"
        value={shownIf(latest?.memories, count)}
        more={latest === undefined ? "" : bytes(latest.bytes)}
      />
      <Tile title="Accounts" value={shownIf(accountCount.value, count)} more="that may store" />
      <Tile title="Agents" value={count(status.namespaces.total)} more={`${count(status.namespaces.open)} open`} />
      <Tile
        title="Calls a second"
        value={seconds === 0 ? "–" : decimal(Number((calls / seconds).toPrecision(2)))}
        more={latest === undefined ? "" : `${decimal(latest.processors)} processors busy`}
      />
      <Tile
        title="Time of a call"
        value={shownIf(lastCalled?.p50Millis, millis)}
        more={<a href={linkTo("live", { order: "slowest" })}>p99 {shownIf(lastCalled?.p99Millis, millis)}</a>}
      />
      <Tile
        title="Errors"
        value={latest === undefined ? "–" : <a href={linkTo("live", { status: "5xx" })}>{count(errors)}</a>}
        more={
          <>
            <a href={linkTo("live", { status: "429" })}>{count(refused)} refused</a>, last hour
          </>
        }
      />
      <Tile
        title="Vectors to make"
        value={count(status.embedding.pending)}
        more={status.embedding.model ?? "words alone"}
      />
      <Tile
        title="To read"
        value={count(status.extraction.pending)}
        more={`conversations, by ${status.extraction.reader}`}
      />
      <Tile title="Process" value={shownIf(latest?.residentBytes, bytes)} more="resident memory" />
      <Tile
        title="Free disk"
        value={bytes(status.disk.freeBytes)}
        more={`${bytes(status.disk.ballastBytes)} in reserve`}
      />
    </dl>
  )
}

const Tile = (given: {
  readonly title: string
  readonly value: ComponentChildren
  readonly more: ComponentChildren
}) => (
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
  /** Remedy, to be typed into a terminal. */
  readonly command?: string
  /** Where more is said, as page and parameters. */
  readonly more?: string
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
    : {
        tone: "bad",
        text: `${status.quarantined.length} agents are set aside; System has the reasons.`,
        more: linkTo("system")
      },
  readerCheck(status.extraction),
  status.commitLog === null
    ? { tone: "good", text: "The commit log is in PostgreSQL, shared by all nodes." }
    : status.commitLog.damage.length > 0
      ? { tone: "bad", text: `The commit log has ${status.commitLog.damage.length} damaged records.` }
      : status.commitLog.isFull
        ? { tone: "bad", text: "The disk is full: only deletes are accepted." }
        : { tone: "good", text: `The commit log is whole (${bytes(status.commitLog.bytes)}).` },
  status.backup.ageSeconds === null
    ? { tone: "warn", text: "No backup is known; this makes one:", command: "muniment backup create --to DIR" }
    : {
        tone: status.backup.ageSeconds > 2 * day ? "warn" : "good",
        text: `The last backup was made ${duration(status.backup.ageSeconds)} ago.`
      },
  status.scrub.damaged.some(({ isMended }) => !isMended)
    ? { tone: "bad", text: "The last reading of all files found damage that could not be mended." }
    : status.scrub.ageSeconds === null
      ? { tone: "good", text: "All files are being read for the first time." }
      : { tone: "good", text: `All files were read ${duration(status.scrub.ageSeconds)} ago.` },
  ...status.rounds
    .filter(({ isFailing }) => isFailing)
    .map(({ name }): Check => ({
      tone: "warn",
      text: `Background work fails and is tried again: ${name}.`,
      more: linkTo("system")
    })),
  status.clockStep === null
    ? { tone: "good", text: "The clock goes on evenly." }
    : { tone: "bad", text: "The clock has jumped: the daily job waits until you confirm the time." },
  ...status.payments.networks.flatMap((network): ReadonlyArray<Check> => {
    if (!network.isReachable) {
      return [{ tone: "bad", text: `${network.network}: no node answers.`, more: linkTo("money") }]
    }
    if (!network.isOffered)
      return [{ tone: "bad", text: `${network.network}: the operator's wallet cannot pay the fees.` }]
    const [problem] = network.problems
    if (problem !== undefined) {
      return [
        { tone: "warn", text: chainProblemText(network.network, problem), more: linkTo("money", { state: "stuck" }) }
      ]
    }
    return [{ tone: "good", text: `${network.network}: payments are taken.` }]
  }),
  ...(status.payments.oldestOpenSeconds > 600
    ? [
        {
          tone: "warn" as const,
          text: `A payment has had no outcome for ${duration(status.payments.oldestOpenSeconds)}.`,
          more: linkTo("money", { state: "stuck" })
        }
      ]
    : []),
  ...(status.webhooks.failed > 0
    ? [
        {
          tone: "warn" as const,
          text: `${status.webhooks.failed} messages for the webhook were given up.`,
          more: linkTo("system", { show: "sessions" })
        }
      ]
    : [])
]

const readerCheck = ({ problem, reader }: ServiceStatus["extraction"]): Check => {
  if (problem !== null) return { tone: "warn", text: modelProblemText(reader, problem) }
  const text = reader === "rules" ? "No language model is configured: rules read" : `The language model ${reader} reads`
  return { tone: "good", text: `${text} conversations.` }
}

const Checks = ({ status }: { readonly status: ServiceStatus }) => (
  <section class="card">
    <div class="head">
      <h2>Checks</h2>
    </div>
    <ul class="checks">
      {checksOf(status).map(({ command, more, text, tone }) => (
        <li key={text}>
          <Icon name={tone} className={`${tone}-ink`} />
          <span>
            <span class="hidden">{tone === "good" ? "Good: " : tone === "warn" ? "Warning: " : "Wrong: "}</span>
            {more === undefined ? text : <a href={more}>{text}</a>} {command !== undefined && <code>{command}</code>}
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
      <Fact name="Version">
        {status.version} on Node {status.node}
      </Fact>
      <Fact name="Data directory" class="mono">
        {status.dataDirectory}
      </Fact>
      <Fact name="Embedding">{status.embedding.detail}</Fact>
      <Fact name="Vector index">
        {status.index.engine}: {status.index.detail}
      </Fact>
      <Fact name="Reader of conversations">{status.extraction.reader}</Fact>
      {status.commitLog !== null && (
        <Fact name="Commit log">
          {bytes(status.commitLog.bytes)} in {count(status.commitLog.segments)}{" "}
          {status.commitLog.segments === 1 ? "segment" : "segments"}, ordinals {count(status.commitLog.firstOrdinal)} to{" "}
          {count(status.commitLog.lastOrdinal)}
        </Fact>
      )}
    </dl>
  </section>
)

const shownMax = 6
const writes = ["create", "update", "delete", "batchCreate", "batchUpdate", "batchDelete"]

/** Last writes of all accounts: when, whose, by whom, and how each ended. */
const LastWrites = ({ refreshMillis }: { readonly refreshMillis: number }) => {
  const { loaded } = useLoad(
    async (signal) => {
      const logs = await Promise.all(writes.map((name) => lastOf(`memories.${name}`, signal)))
      return logs
        .flat()
        .sort((one, other) => other.id - one.id)
        .slice(0, shownMax)
    },
    [],
    refreshMillis
  )
  return (
    <section class="stack" aria-label="Last writes">
      <div class="head">
        <h2>Last writes</h2>
        <a class="small" href={linkTo("audit", { show: "requests", operation: "memories" })}>
          All calls
        </a>
      </div>
      <Show of={loaded}>
        {(calls) =>
          calls.length === 0 ? (
            <p class="muted">Nothing was written in the days for which calls are kept.</p>
          ) : (
            <Table
              label="Calls that wrote last"
              rows={calls}
              keyOf={({ id }) => String(id)}
              columns={[
                { title: "When", cell: ({ at }) => <span title={moment(at)}>{ago(at)}</span> },
                { title: "Account", cell: ({ account }) => account ?? <span class="muted">not known</span> },
                { title: "By", cell: ({ caller }) => <span class="mono">{caller ?? ""}</span> },
                { title: "Operation", cell: ({ operation }) => <span class="mono">{operation}</span> },
                {
                  title: "Outcome",
                  cell: ({ status }) => <span class={`badge ${status < 400 ? "good" : "warn"}`}>{status}</span>
                }
              ]}
            />
          )
        }
      </Show>
    </section>
  )
}

const lastOf = async (operation: string, signal: AbortSignal): Promise<ReadonlyArray<RequestRecord>> => {
  const query = { operation, limit: shownMax }
  return (await call("GET", "/admin/requests", { query, signal })).requests
}
