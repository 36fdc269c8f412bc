/**
 * The way of a request from its headers to the work on it: whose turn, room for its body, the body, the lane of its
 * kind. Every bound is met here, before the service has done any work on the request.
 *
 * Invariants:
 * - A request is let in once, or refused once, or leaves because its client did; room and place are given back when
 *   its answer is made or its response closes, however that comes about.
 * - Who does not read an answer holds no place with it (`UnsentAnswers.ts`).
 * - A body is received only when there is room for all of it, and it holds no place among those in work meanwhile.
 * - What is exempt (health; the operator's routes with the token; metrics on this machine) waits for nothing.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Option } from "effect"
import type { Account } from "@muniment/domain/Account"
import { Limits } from "@muniment/domain/Limits"
import { pathOf } from "../paths.ts"
import { type Asker, Askers, type ByteBound, Bytes } from "./Bytes.ts"
import { Lane, type LaneState, type Visit } from "./Lane.ts"
import { ProcessorWait } from "./ProcessorWait.ts"
import {
  type PlainRequest,
  type Refusal,
  Refusals,
  type RefusedCount,
  type RefusedLines,
  type RequestHead,
  sendRefusal,
  type WireRefusal,
  wireRefusal
} from "./Refusals.ts"
import { announcedBytes, discardBody, receiveBody } from "./RequestBody.ts"
import { CalmAccounts, Turnstile } from "./Turnstile.ts"
import { UnsentAnswers } from "./UnsentAnswers.ts"
import { WorkLimit } from "./WorkLimit.ts"
import { unitsIn, type WorkKind, workKindOf, workKinds } from "./WorkKind.ts"

/** Sender of a request, by its socket and its headers. */
export interface Sender {
  readonly remoteAddress: Option.Option<string>
  readonly headers: Readonly<Record<string, string | undefined>>
}

export interface GateOptions {
  readonly nowMillis: () => number
  /** The address, or what of it counts as one client. */
  readonly clientOf: (sender: Sender) => string
  readonly isExempt: (sender: Sender, path: string) => boolean
  /** Looks up the account of a request's key, where strangers have no room for a body. Calls `done` once. */
  readonly identify: (sender: Sender, done: (account: Account | undefined) => void) => void
  /** The longest expected wait of a request that is let in; default `Limits.queueWaitMillis`. */
  readonly queueWaitMillis?: number | undefined
  /** The contract's pattern of a request's path. */
  readonly routeOf: (request: RequestHead) => string
  /** Headers of a refusal: request id, those for web pages. */
  readonly headersFor: (request: RequestHead) => Readonly<Record<string, string>>
}

export interface GateState {
  readonly lanes: ReadonlyMap<WorkKind, LaneState>
  readonly bodyBytes: number
  /** Bytes of answers that their callers have not taken, and how many answers were cut off. */
  readonly answerBytes: number
  readonly answersCut: number
  readonly refused: ReadonlyArray<RefusedCount>
}

/** A refusal as it is sent. */
export interface RefusedAnswer {
  readonly answer: WireRefusal
  readonly headers: Readonly<Record<string, string>>
}

/** Passages by request. */
const passages = new WeakMap<object, Passage>()

/**
 * The work on a request waits for something outside that has bounds of its own, such as a chain: it gives its place up,
 * and its time says nothing of our load.
 */
export const leaveLane = (source: object): void => passages.get(source)?.leaveLane()

/** Messages that count in an MCP batch. */
const unitsMax = 10

const noBody = Buffer.alloc(0)

export class Gate {
  readonly #askers = new Askers()
  readonly #options: GateOptions
  readonly #streams = new WeakSet<ServerResponse>()
  readonly #lanes: ReadonlyMap<WorkKind, Lane>
  readonly #bytes = new Bytes()
  readonly #unsent = new UnsentAnswers()
  readonly #calm = new CalmAccounts()
  readonly #turnstile: Turnstile
  /** Bodies that have not arrived, and since when; oldest first. */
  readonly #receiving = new Map<Passage, number>()
  readonly #refusals = new Refusals()
  readonly #processorWait: ProcessorWait

  constructor(options: GateOptions) {
    this.#options = options
    this.#processorWait = new ProcessorWait(options.nowMillis())
    const waitingShare = () => this.#processorWait.share
    this.#lanes = new Map(
      workKinds.map((kind) => {
        // Payments wait for chains, and have bounds of their own (package payments): time says nothing of our load.
        const limit = new WorkLimit(kind === "payment" ? { least: Limits.workMax } : { waitingShare })
        return [kind, new Lane(kind, { limit, queueWaitMillis: options.queueWaitMillis })]
      })
    )
    this.#turnstile = new Turnstile(options.nowMillis)
  }

  get state(): GateState {
    return {
      lanes: new Map([...this.#lanes].map(([kind, lane]) => [kind, lane.state])),
      bodyBytes: this.#bytes.inFlight,
      answerBytes: this.#unsent.bytes,
      answersCut: this.#unsent.cuts,
      refused: this.#refusals.counts
    }
  }

  /** The listener has accepted a connection. */
  connected(): void {
    this.#turnstile.connected()
  }

  /** Calls `proceed` when the request may be worked on, or answers it. */
  enter(request: IncomingMessage, response: ServerResponse<IncomingMessage>, proceed: () => void): void {
    const sender = senderOf(request)
    if (this.#options.isExempt(sender, pathOf(request.url ?? ""))) return proceed()
    const passage: Passage = {
      request,
      response,
      proceed,
      ...this.#askerOf(sender),
      arrivedMillis: this.#options.nowMillis(),
      begunMillis: undefined,
      bytes: 0,
      visit: undefined,
      lane: undefined,
      leaveLane: () => this.#leaveLane(passage, false)
    }
    passages.set(request, passage)
    response.once("prefinish", () => this.#answerMade(passage))
    response.once("close", () => this.#leave(passage, response.writableFinished))
    const announced = announcedBytes(request)
    // A body above the bound is refused by its length, unread.
    if (announced === 0 || Number(announced) > Limits.requestBodyBytesMax) this.#join(passage, noBody)
    else this.#receive(passage, announced)
  }

  /** The request has become a stream, which waits for what may come: it leaves its lane, and a shutdown ends it. */
  release(source: object): void {
    const passage = passages.get(source)
    if (passage === undefined) return
    this.#streams.add(passage.response)
    passage.leaveLane()
  }

  isStream(response: ServerResponse): boolean {
    return this.#streams.has(response)
  }

  /** Refusal of a request whose body has arrived, if it would be refused at once: counted, and to be sent. */
  refusalOf(request: PlainRequest, remoteAddress: string | undefined): RefusedAnswer | undefined {
    if (this.#isOpen) return undefined
    const { body, headers, method = "", url = "" } = request
    const sender = { remoteAddress: Option.fromNullishOr(remoteAddress), headers }
    if (this.#options.isExempt(sender, pathOf(url))) return undefined
    const asker = this.#askerOf(sender)
    const lane = this.#lanes.get(workKindOf(method, url, body))!
    const refusal = lane.refusalOf(asker)
    if (refusal === undefined) return undefined
    // Or a crowd that is refused here would pass for an account that asks now and then.
    if (asker.isKnown) this.#calm.add(asker.account, 1, this.#options.nowMillis(), lane.perSecond)
    return this.#answer(refusal, request, asker, 0)
  }

  /** The credentials were right; later requests with the same wait in the turn of their account. */
  recognise(sender: Sender, account: Pick<Account, "id" | "plan">): void {
    this.#askers.learn(sender.headers, () => this.#options.clientOf(sender), account)
  }

  /** The credentials were wrong. */
  forget(sender: Sender): void {
    this.#askers.forget(sender.headers, () => this.#options.clientOf(sender))
  }

  /** For the request log. */
  takeRefusedLines(): RefusedLines {
    return this.#refusals.takeLines()
  }

  /** For a round in the background: refuses what has waited too long. */
  refuseOverdue(): void {
    const nowMillis = this.#options.nowMillis()
    if (!this.#isOpen) this.#processorWait.look(nowMillis)
    for (const lane of this.#lanes.values()) lane.refuseOverdue(nowMillis)
    this.#unsent.cutOverdue(nowMillis)
  }

  /** Whether any request would begin at once. */
  get #isOpen(): boolean {
    return [...this.#lanes.values()].every(({ hasPlace }) => hasPlace)
  }

  #askerOf(sender: Sender): Asker {
    return this.#askers.of(sender.headers, () => this.#options.clientOf(sender))
  }

  #receive(passage: Passage, announced: number | undefined): void {
    const bytes = announced ?? Limits.requestBodyBytesMax
    const bound = this.#reserve(passage, bytes)
    if (bound === undefined) return this.#receiveReserved(passage, announced)
    if (passage.isKnown) return this.#refuseBody(passage, bound, bytes)
    // Strangers have little room; the request may be the first with the key of an account that has its own.
    return this.#identify(passage, () => {
      const stands = passage.isKnown ? this.#reserve(passage, bytes) : bound
      if (stands === undefined) this.#receiveReserved(passage, announced)
      else this.#refuseBody(passage, stands, bytes)
    })
  }

  #identify(passage: Passage, afterwards: () => void): void {
    const sender = senderOf(passage.request)
    this.#options.identify(sender, (account) => {
      if (passage.response.destroyed) return
      if (account !== undefined) {
        this.recognise(sender, account)
        Object.assign(passage, this.#askerOf(sender))
      }
      afterwards()
    })
  }

  #receiveReserved(passage: Passage, announced: number | undefined): void {
    const { account, bytes, request, response } = passage
    this.#receiving.set(passage, this.#options.nowMillis())
    if (request.headers.expect !== undefined) response.writeContinue()
    receiveBody(request, Limits.requestBodyBytesMax, (body) => {
      if (!this.#receiving.delete(passage)) return
      if (announced === undefined) {
        this.#bytes.release(account, bytes)
        passage.bytes = 0
        const bound = this.#reserve(passage, body.length)
        if (bound !== undefined) return this.#refuseBody(passage, bound, body.length)
      }
      this.#join(passage, body)
    })
  }

  /** Room for the passage, until it is given back; otherwise the bound that it would exceed. */
  #reserve(passage: Passage, bytes: number): ByteBound | undefined {
    const { account } = passage
    const nowMillis = this.#options.nowMillis()
    let bound = this.#bytes.reserve(account, bytes, nowMillis)
    if (bound !== undefined && this.#endSlowBodies(bound === "account_bytes" ? account : undefined)) {
      bound = this.#bytes.reserve(account, bytes, nowMillis)
    }
    if (bound === undefined) passage.bytes = bytes
    return bound
  }

  #refuseBody(passage: Passage, bound: ByteBound, bytes: number): void {
    // Small bodies do not rest.
    const isCrowd = bound === "account_bytes" && bytes > Limits.smallBodyBytesMax
    const waitMillis = isCrowd ? Limits.crowdedBodyRestMillis : Limits.queueWaitMillis
    this.#refuse(passage, { bound, work: workKindIn(passage, noBody), waitMillis })
  }

  /** Whether there is more room now. */
  #endSlowBodies(ofAccount: string | undefined): boolean {
    const before = this.#bytes.inFlight
    const slowMillis = this.#options.nowMillis() - Limits.slowBodyMillis
    for (const [passage, sinceMillis] of this.#receiving) {
      if (sinceMillis > slowMillis) break
      if (ofAccount !== undefined && passage.account !== ofAccount) continue
      passage.response.shouldKeepAlive = false
      this.#refuse(passage, { bound: "slow_body", work: workKindIn(passage, noBody), waitMillis: 0 })
    }
    return this.#bytes.inFlight < before
  }

  #join(passage: Passage, body: Buffer): void {
    const { account, isKnown, request, weight } = passage
    const nowMillis = this.#options.nowMillis()
    const cost = unitsIn(request.url ?? "", body, unitsMax)
    const lane = this.#lanes.get(workKindIn(passage, body))!
    if (this.#unsent.isFull(account)) return this.#refuseUnread(passage, lane)
    const isCalm = isKnown && this.#calm.add(account, cost, nowMillis, lane.perSecond)
    const visit: Visit = {
      account,
      weight,
      cost,
      isCalm,
      begin: (isAtOnce) => {
        const calmly = isAtOnce ? "ahead" : "first"
        this.#turnstile.pass(() => this.#begin(passage, lane), isCalm ? calmly : "none")
      },
      refuse: (refusal) => this.#refuse(passage, refusal)
    }
    passage.visit = visit
    passage.lane = lane
    lane.enter(visit, nowMillis)
  }

  #begin(passage: Passage, lane: Lane): void {
    if (passage.response.destroyed) return
    // Answers that were made while it waited.
    if (this.#unsent.isFull(passage.account)) {
      this.#leaveLane(passage, false)
      return this.#refuseUnread(passage, lane)
    }
    passage.begunMillis = this.#options.nowMillis()
    passage.proceed()
  }

  /** Its account has to read first. */
  #refuseUnread(passage: Passage, { name }: Lane): void {
    this.#refuse(passage, { bound: "account_answers", work: name, waitMillis: Limits.queueWaitMillis })
  }

  #refuse(passage: Passage, refusal: Refusal): void {
    const { arrivedMillis, request, response } = passage
    const { answer, headers } = this.#answer(refusal, request, passage, this.#options.nowMillis() - arrivedMillis)
    this.#giveBack(passage)
    discardBody(request)
    sendRefusal(response, answer, headers)
  }

  /** Counts it. `millis`: since the request arrived. */
  #answer(refusal: Refusal, request: RequestHead, { account, isKnown }: Asker, millis: number): RefusedAnswer {
    const { headersFor, routeOf } = this.#options
    const answer = wireRefusal(refusal)
    this.#refusals.add(refusal.work, refusal.bound, {
      method: request.method ?? "",
      route: routeOf(request),
      status: answer.status,
      millis,
      account: isKnown ? account : undefined
    })
    return { answer, headers: headersFor(request) }
  }

  /** The work has ended; what the system has not taken of the answer is its caller's to read. */
  #answerMade(passage: Passage): void {
    const { account, response } = passage
    const bytes = response.socket?.writableLength ?? 0
    this.#leave(passage, true)
    if (bytes === 0) return
    const sinceMillis = this.#options.nowMillis()
    this.#unsent.add(passage, { account, bytes, sinceMillis, cut: () => response.destroy() })
  }

  /** The answer is made, or the response has closed: its client is gone. */
  #leave(passage: Passage, isDone: boolean): void {
    this.#giveBack(passage)
    this.#unsent.taken(passage)
    this.#leaveLane(passage, isDone)
  }

  #leaveLane({ lane, visit }: Passage, isDone: boolean): void {
    if (visit !== undefined) lane?.leave(visit, isDone, this.#options.nowMillis())
  }

  #giveBack(passage: Passage): void {
    const { account, begunMillis, bytes } = passage
    this.#receiving.delete(passage)
    passage.bytes = 0
    if (bytes === 0) return
    if (begunMillis === undefined) return this.#bytes.release(account, bytes)
    const nowMillis = this.#options.nowMillis()
    this.#bytes.rest(account, bytes, nowMillis, Math.min(nowMillis - begunMillis, Limits.bodyRestMillisMax))
  }
}

/** One request. */
interface Passage {
  /** As of its asker, who may be identified while it waits for room. */
  account: string
  weight: number
  isKnown: boolean
  readonly request: IncomingMessage
  readonly response: ServerResponse<IncomingMessage>
  readonly proceed: () => void
  readonly arrivedMillis: number
  /** When work on it began. */
  begunMillis: number | undefined
  /** Room that it holds. */
  bytes: number
  visit: Visit | undefined
  lane: Lane | undefined
  /** Before its answer is made. */
  readonly leaveLane: () => void
}

/** Headers that decide are single in Node's reading. */
const senderOf = ({ headers, socket }: IncomingMessage): Sender => ({
  remoteAddress: Option.fromNullishOr(socket.remoteAddress),
  headers: headers as Readonly<Record<string, string | undefined>>
})

const workKindIn = ({ request }: Passage, body: Buffer): WorkKind =>
  workKindOf(request.method ?? "", request.url ?? "", body)
