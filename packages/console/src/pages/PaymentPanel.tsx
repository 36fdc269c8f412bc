/**
 * One payment with all that is known of it: the whole of its ids, when it went from state to state, why it failed or what
 * it waits for, and what an operator can do about it.
 */
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { PaymentRecord } from "@muniment/domain/Operations"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import { useRef } from "preact/hooks"
import { call } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { type Loaded, useLoad } from "../service/load.ts"
import { amount, dollars } from "../service/operator.ts"
import { linkTo } from "../service/route.ts"
import { ago, duration, exactMoment } from "../service/text.ts"
import { CopyButton } from "../ui/CopyButton.tsx"
import { SidePanel } from "../ui/Dialog.tsx"
import { Notice, Refused } from "../ui/Notice.tsx"
import { Fact } from "../ui/Table.tsx"

export const tones: Readonly<Record<PaymentRecord["state"], string>> = {
  verified: "warn",
  broadcasting: "warn",
  settled: "accent",
  finalized: "good",
  failed: "bad",
  reversed: "bad"
}

/** Longer than a chain that answers takes. */
export const longWaitMillis = 600_000

/** Next step, where no reason is given. */
export const waitsFor: Partial<Readonly<Record<PaymentRecord["state"], string>>> = {
  verified: "signed, not sent yet: it is tried again within a minute",
  broadcasting: "not confirmed yet: it goes to the chain until that has it, and is asked about every 15 seconds",
  settled: "credited; the chain may still take it back"
}

export const isWaiting = (state: PaymentRecord["state"]): boolean => state === "verified" || state === "broadcasting"

export const isStuck = ({ createdAt, state }: PaymentRecord): boolean =>
  isWaiting(state) && now() - createdAt > longWaitMillis

/** What the payer signed is over: a chain that does not have it yet takes it no more. */
const isRunOut = ({ expiresAt, state }: PaymentRecord): boolean =>
  isWaiting(state) && expiresAt !== null && expiresAt < now()

const creditsPerUsd = 1_000

export const PaymentPanel = (given: { readonly payment: PaymentRecord; readonly onClose: () => void }) => {
  const { account, amountUsd, createdAt, expiresAt, id, network, payer, reason, state, transaction, updatedAt } =
    given.payment
  const status = useLoad((signal) => call("GET", "/admin/status", { signal }), [given.payment])
  const isCredited = state === "settled" || state === "finalized" || state === "reversed"
  const receipt = useLoad(
    (signal) =>
      isCredited
        ? call("GET", "/admin/payments/receipt", { query: { payment: id }, signal })
        : Promise.resolve(undefined),
    [id, state]
  ).loaded.value
  return (
    <SidePanel label="Payment" title={`${dollars(amountUsd)} USD`} onClose={given.onClose}>
      <div class="meta">
        <span class={`badge ${tones[state]}`}>{state}</span>
        {isStuck(given.payment) && <span class="badge bad">stuck</span>}
        {isRunOut(given.payment) && <span class="badge warn">authorisation ran out</span>}
      </div>
      {isWaiting(state) ? (
        <Waits payment={given.payment} status={status.loaded} />
      ) : (
        (state === "failed" || state === "reversed") && (
          <Notice tone="warn">
            <strong>{(reason ?? "No reason is kept").replace(/[.]?$/, ".")}</strong>{" "}
            {state === "failed"
              ? "No money was taken and nothing was credited; the payer may pay again."
              : "The chain took the transfer back: what was left of its credits was taken back, too."}
          </Notice>
        )
      )}
      <dl class="facts">
        <Fact name="Account">
          <a href={linkTo("money", { show: "movements", account })}>{account}</a>
        </Fact>
        <Fact name="Credits">
          {isCredited ? amount(amountUsd * creditsPerUsd) : isWaiting(state) ? "none until it is settled" : undefined}
        </Fact>
        <Fact name="Network">
          {network} <span class="mono small">{chains[network].caip2}</span>
        </Fact>
        <Whole name="Transaction" text={transaction} link={transaction && explorerOf(network, "tx", transaction)} />
        <Whole name="Paid by" text={payer} link={explorerOf(network, "address", payer)} />
        <Whole name="Payment" text={id} />
        <Fact name="Begun">
          {exactMoment(createdAt)} ({ago(createdAt)})
        </Fact>
        <Fact name="Credited">{receipt === undefined ? undefined : exactMoment(receipt.settledAt)}</Fact>
        <Fact name={isWaiting(state) ? "Last step" : state.charAt(0).toUpperCase() + state.slice(1)}>
          {exactMoment(updatedAt)}, {duration((updatedAt - createdAt) / 1_000)} after it began
        </Fact>
        {expiresAt !== null && isWaiting(state) && (
          <Fact name="May be sent until">
            {exactMoment(expiresAt)} ({ago(expiresAt)})
          </Fact>
        )}
        {reason !== null && isWaiting(state) && <Fact name="Said last">{reason}</Fact>}
        {receipt !== undefined && <Whole name="Receipt, signed" text={receipt.receipt.signature} />}
      </dl>
    </SidePanel>
  )
}

/** The whole of a text that nobody types, to be copied; `link` leads to a page about it. */
const Whole = (given: { readonly name: string; readonly text: string | null; readonly link?: string | null }) => {
  const shown = useRef<HTMLSpanElement>(null)
  const { link, name, text } = given
  if (text === null) return <Fact name={name}>none yet</Fact>
  return (
    <Fact name={name}>
      <span class="mono" ref={shown}>
        {text}
      </span>
      <span class="actions">
        <CopyButton name={name} text={text} shown={shown} />
        {typeof link === "string" && (
          <a href={link} target="_blank" rel="noreferrer noopener">
            In the explorer
          </a>
        )}
      </span>
    </Fact>
  )
}

interface Chain {
  readonly caip2: string
  readonly explorer: string
  readonly query: string
  /** Setting of the address of its nodes. */
  readonly nodes: string
}

const evm = { query: "", nodes: "MUNIMENT_EVM_RPC_URL" }
const svm = { explorer: "https://explorer.solana.com", nodes: "MUNIMENT_SOLANA_RPC_URL" }
const chains: Readonly<Record<PaymentNetwork, Chain>> = {
  base: { caip2: "eip155:8453", explorer: "https://basescan.org", ...evm },
  "base-sepolia": { caip2: "eip155:84532", explorer: "https://sepolia.basescan.org", ...evm },
  solana: { caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", query: "", ...svm },
  "solana-devnet": { caip2: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", query: "?cluster=devnet", ...svm }
}

const explorerOf = (network: PaymentNetwork, what: "tx" | "address", name: string): string => {
  const { explorer, query } = chains[network]
  return `${explorer}/${what}/${encodeURIComponent(name)}${query}`
}

type Network = ServiceStatus["payments"]["networks"][number]

type Problem = Network["problems"][number]

const refusals: Readonly<Record<Problem["question"], string>> = {
  verify: "do not check payments",
  sign: "do not say what a transaction needs",
  broadcast: "do not take transactions",
  look: "do not say what became of transactions"
}

export const chainProblemText = (network: PaymentNetwork, { cause, question, since }: Problem): string =>
  `The nodes of ${network} ${refusals[question]} since ${exactMoment(since)}. They said last: ${cause}.`

/** What it waits for, since when, and what to do. */
const Waits = (given: { readonly payment: PaymentRecord; readonly status: Loaded<ServiceStatus> }) => {
  const { payment, status } = given
  const { createdAt, expiresAt, network, state, transaction } = payment
  const networks = status.value?.payments.networks
  return (
    <Notice tone={isStuck(payment) ? "bad" : "warn"}>
      <p>
        <strong>
          Waits for {duration((now() - createdAt) / 1_000)}, since {exactMoment(createdAt)}:
        </strong>{" "}
        {waitsFor[state]}.
      </p>
      <ul>
        {networks !== undefined &&
          whatToDo(
            payment,
            networks.find((one) => one.network === network)
          ).map((step) => <li key={step}>{step}</li>)}
        {transaction !== null && (
          <li>
            In the explorer the transaction says whether the chain has it.{" "}
            {isRunOut(payment)
              ? "The payer's authorisation ran out: if the chain does not have it, it can only fail, and is called failed once the chain cannot take that back."
              : `It is sent again by itself as long as the payer's authorisation holds${expiresAt === null ? "" : `, until ${exactMoment(expiresAt)}`}.`}
          </li>
        )}
      </ul>
      {status.state === "failed" && <Refused error={status.error} />}
    </Notice>
  )
}

const whatToDo = (payment: PaymentRecord, network: Network | undefined): ReadonlyArray<string> => {
  const name = payment.network
  if (network === undefined) {
    return [`The service does not serve ${name} now: add it to MUNIMENT_PAYMENT_NETWORKS, and it goes on.`]
  }
  if (!network.isReachable)
    return [`No node of ${name} answers: see ${chains[name].nodes}. It goes on by itself once one does.`]
  if (!network.isOffered) {
    return [`The operator's wallet cannot pay the fees of ${name}: send it the chain's own coin, and it goes on.`]
  }
  if (network.problems.length > 0) {
    return network.problems.map((problem) => chainProblemText(name, problem))
  }
  return isStuck(payment)
    ? [`The nodes of ${name} answer and refuse nothing. Ask the chains now.`]
    : ["Nothing is to be done yet: it is asked about by itself."]
}
