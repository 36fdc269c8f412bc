/** What callers of the whole service ask for, and how each answer is judged. */
import type { SeededRandom } from "../../../support/SeededRandom.ts"
import type { Model, Write } from "../Model.ts"
import type { Books } from "./Books.ts"
import type { Answer, Call } from "./WholeService.ts"

/** One agent of one account. */
export interface Tenant {
  readonly account: AccountOfCaller
  readonly agentId: string
  readonly model: Model
  /** Its memories are messages of conversations. */
  readonly isConversation: boolean
  writing: number
}

export interface AccountOfCaller {
  readonly name: string
  key: string
  readonly books: Books
}

/** One request with all its copies and repetitions. */
export interface Ask {
  readonly name: string
  readonly call: Call
  readonly tenant: Tenant | undefined
  /** What the model knows of it. */
  readonly write: Write | undefined
  copies: number
  tries: number
  /** Of the first answer that is final. */
  isOver: boolean
  /** Says what is wrong with a 200. */
  readonly stored: (body: Answer["body"], atMillis: number) => string | undefined
  /** No copy of it is under way any more. */
  readonly ended: () => void
}

/** What may have gone wrong in this life without a fault of the service. */
export interface Excuses {
  readonly isDiskFaulty: boolean
  /** It has no room for what grows. */
  readonly isDiskFull: boolean
  readonly isPurging: boolean
}

const depositUnits = 100_000
/** Of one deposit. */
export const depositCredits = 100

export class Callers {
  readonly #random: SeededRandom
  #lastNumber = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** To create, replace or remove. */
  write(tenant: Tenant): Ask {
    const { account, agentId, model } = tenant
    const { free } = model
    const kind = free.length === 0 ? "create" : this.#pick(["create", "create", "replace", "remove"] as const)
    const write = this.#writeOf(kind, kind === "create" ? undefined : this.#pick(free), agentId)
    const data = { subject: "someone", fact: write.text }
    const replaced = kind === "replace" ? { id: write.id } : {}
    const body = { agentId, memories: [{ ...replaced, kind: "factual_memory", data }] }
    const ofKind = {
      create: { method: "POST", path: "/memories", body },
      replace: { method: "POST", path: "/memories", body },
      remove: { method: "DELETE", path: `/memories/${write.id}` }
    } as const
    const call = { ...ofKind[kind], key: account.key, headers: { "idempotency-key": write.key } }
    model.begin(write)
    account.books.writes.set(write.key, write)
    return this.#askOf(`${kind} ${write.key}`, call, tenant, write, (answered, atMillis) =>
      kind === "create" ? createdOf(model, write, answered, atMillis) : { id: write.id, count: 1 }
    )
  }

  /** One new message, which a repetition sends again without a key. */
  converse(tenant: Tenant): Ask {
    const { account, agentId, model } = tenant
    const write = this.#writeOf("create", undefined, agentId)
    const messages = [{ id: `message-${write.key}`, role: "user", content: write.text }]
    const body = { agentId, subjectId: "someone", threadId: "thread", conversation: messages }
    model.begin(write)
    account.books.conversations++
    const call = { method: "POST", path: "/memories", key: account.key, body }
    const ask = this.#askOf(`converse ${write.key}`, call, tenant, write, () => undefined)
    return ask
  }

  deposit(account: AccountOfCaller, nonce: string): Ask {
    account.books.payments.add(nonce)
    const payment = { x402Version: 1, scheme: "exact", network: "base-sepolia", payload: { nonce } }
    const headers = { "x-payment": Buffer.from(JSON.stringify(payment)).toString("base64") }
    const call = { method: "POST", path: "/credits/deposit?amount_usd=0.10", key: account.key, headers }
    return { ...fresh(`deposit ${nonce}`, call), stored: () => undefined, ended: () => undefined }
  }

  get depositUnits(): number {
    return depositUnits
  }

  #writeOf(kind: Write["kind"], id: string | undefined, agentId: string): Write {
    const number = ++this.#lastNumber
    const text = `I keep number ${number} of agent ${agentId}.`
    return {
      key: `key-${number}`,
      kind,
      id,
      text,
      expiresAt: undefined,
      deliveredAt: undefined,
      offered: [],
      done: [],
      copies: 0,
      tries: 0,
      isAcknowledged: false
    }
  }

  #askOf(
    name: string,
    call: Call,
    tenant: Tenant,
    write: Write,
    replyOf: (body: Answer["body"], atMillis: number) => Parameters<Model["acknowledge"]>[1] | undefined
  ): Ask {
    return {
      ...fresh(name, call, tenant, write),
      stored: (body, atMillis) => {
        const reply = replyOf(body, atMillis)
        return reply === undefined ? undefined : tenant.model.acknowledge(write, reply, atMillis)
      },
      ended: () => tenant.model.end(write)
    }
  }

  #pick<A>(choices: ReadonlyArray<A>): A {
    return this.#random.pick(choices)!
  }
}

const fresh = (name: string, call: Call, tenant?: Tenant, write?: Write) => ({
  name,
  call,
  tenant,
  write,
  copies: 0,
  tries: 0,
  isOver: false
})

const createdOf = (model: Model, write: Write, body: Answer["body"], atMillis: number) => {
  const [created] = (body["created"] ?? []) as ReadonlyArray<{ readonly id: string }>
  if (created !== undefined) model.recognise(new Map([[created.id, write.text]]), atMillis)
  return { id: created?.id, count: 1 }
}

/** What an answer means for its caller: it is final, to be repeated, or a fault. */
export const verdictOf = (ask: Ask, { body, status }: Answer, excuses: Excuses): "final" | "again" | "fault" => {
  if (status === 200) return "final"
  const code = String(body["code"])
  const isDeposit = ask.name.startsWith("deposit")
  if (isDeposit && (status === 202 || code === "payment_unavailable")) return "again"
  if (!isDeposit && code === "insufficient_credits") return "final"
  if (excuses.isDiskFaulty && (status === 503 || status === 507)) return "again"
  // Removals have room of their own.
  if (excuses.isDiskFull && status === 507 && ask.write?.kind !== "remove") return "again"
  if (excuses.isPurging && code === "memory_not_found") return "final"
  if (isRetired({ body, status })) return "again"
  return "fault"
}

/** The daily job removes the agent, which it found empty, under a request that looked it up before. */
export const isRetired = ({ body, status }: Answer): boolean =>
  status === 503 && String(body["error"]).includes("because it is empty")
