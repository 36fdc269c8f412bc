/** A case played as an agent would: its messages are sent in windows, each read before the next, then its questions asked. */
import { randomUUID } from "node:crypto"
import { type Case, type CaseQuestion, type Verdict, verdictOf } from "./CaseJudge.ts"
import type { Service, ServiceAnswer } from "./Service.ts"

export interface Windows {
  /** Messages of a request. */
  readonly window: number
  /** New ones among them. */
  readonly step: number
}

export interface Extracted {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: { readonly tags?: ReadonlyArray<string> }
}

export interface PlayedCase {
  readonly memories: ReadonlyArray<Extracted>
  readonly answers: ReadonlyArray<{
    readonly question: CaseQuestion
    readonly verdict: Verdict
    readonly method: string
  }>
  readonly readMillis: number
  readonly answerMillis: number
}

export const playCase = async (service: Service, one: Case, windows: Windows): Promise<PlayedCase> => {
  const agentId = `${one.id}-${randomUUID().slice(0, 8)}`
  const startedAt = performance.now()
  await send(service, agentId, one, windows)
  const readAt = performance.now()
  const memories = await extractedBy(service, agentId)
  const answers: Array<PlayedCase["answers"][number]> = []
  for (const question of one.questions) {
    const common = { query: question.q, now: one.asked, timeZone: one.timeZone, agentId, subjectId: "s" }
    const parameters = new URLSearchParams({ ...common, mode: "answer" })
    const said = await service.call<ServiceAnswer>(`/v1/memories/search?${parameters}`)
    answers.push({ question, verdict: verdictOf(question, said), method: said.method })
  }
  return { memories, answers, readMillis: readAt - startedAt, answerMillis: performance.now() - readAt }
}

const send = async (
  service: Service,
  agentId: string,
  { messages }: Case,
  { step, window }: Windows
): Promise<void> => {
  for (let end = step; end < messages.length + step; end += step) {
    const to = Math.min(end, messages.length)
    const conversation = messages.slice(Math.max(0, to - window), to)
    const request = { agentId, subjectId: "s", threadId: "t", conversation, wait: "vectors" }
    const { extraction } = await service.call<{ readonly extraction: string }>("/v1/memories", request)
    if (extraction === "pending") await untilRead(service, agentId)
  }
}

/** A local model takes minutes for a request. */
const readMillisMax = 900_000
const pollMillis = 250

interface Ready {
  readonly checks: Readonly<Record<"conversations" | "embedding", { readonly pending: number }>>
}

/** What a model cannot read is asked about all the same. */
const untilRead = async (service: Service, agentId: string): Promise<void> => {
  for (const until = performance.now() + readMillisMax; performance.now() < until;) {
    await new Promise((wake) => setTimeout(wake, pollMillis))
    const { checks } = await service.call<Ready>("/health/ready")
    if (checks.conversations.pending === 0 && checks.embedding.pending === 0) return
  }
  process.stderr.write(`${agentId}: not read within ${readMillisMax / 60_000} minutes\n`)
}

const extractedBy = async (service: Service, agentId: string): Promise<ReadonlyArray<Extracted>> => {
  const found: Array<Extracted> = []
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const parameters = new URLSearchParams({ agentId, limit: "100", include: "extracted", ...(cursor && { cursor }) })
    const page: { readonly memories: ReadonlyArray<Extracted>; readonly nextCursor?: string } = await service.call(
      `/v1/memories?${parameters}`
    )
    found.push(...page.memories)
    cursor = page.memories.length === 0 ? undefined : page.nextCursor
  }
  return found
}
