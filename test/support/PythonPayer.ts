/**
 * The stock client `x402` of Python as a process that pays by `x402_payer.py`. `X402_PYTHON` is a Python that has the
 * package; the project brings neither.
 */
import { spawn, spawnSync } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import type { Payer, ProtocolVersion } from "./PaymentCalls.ts"

const python = process.env["X402_PYTHON"] ?? "python3"

/** Against which the test was written. */
const wantedVersion = "2.25.0"

const foundVersion = (): string | undefined => {
  const { status, stdout } = spawnSync(
    python,
    ["-c", "import importlib.metadata; print(importlib.metadata.version('x402'))"],
    {
      encoding: "utf8"
    }
  )
  return status === 0 ? stdout.trim() : undefined
}

const reason = (): string => {
  const found = foundVersion()
  if (found === wantedVersion) return ""
  const has = found === undefined ? "has no package x402 or is not there" : `has x402 ${found}`
  return ` (skipped: ${python} ${has}; X402_PYTHON must name one with x402[evm,svm,clients] ${wantedVersion})`
}

/** Why payments by Python cannot run here; empty where they can. For the name of a skipped suite. */
export const missingPython: string = reason()

/** Libraries for HTTP that the client wraps. */
export type PythonLibrary = "requests" | "httpx"

export interface PaidRequest {
  readonly library: PythonLibrary
  readonly version: ProtocolVersion
  readonly payer: Payer
  /** Of a Solana node, which the client asks for the newest block. */
  readonly rpcUrl: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface PythonPayer {
  /** Sends the request, pays if it is answered 402 and sends it again; rejects with the client's own error. */
  readonly send: (request: PaidRequest) => Promise<Response>
  readonly stop: () => Promise<void>
}

export const startPythonPayer = (): PythonPayer => {
  const child = spawn(python, [join(import.meta.dirname, "x402_payer.py")], { stdio: "pipe" })
  const complaints = text(child.stderr)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    send: async ({ body, payer, ...rest }) => {
      const order = { ...rest, body: body ?? null, network: payer.network, key: payer.key }
      child.stdin.write(`${JSON.stringify(order)}\n`)
      const { done, value } = await lines.next()
      if (done === true) throw new Error(`the Python client ended: ${await complaints}`)
      const answer = JSON.parse(value)
      if (answer.error !== undefined) throw new Error(`the Python client: ${answer.error}`)
      return new Response(answer.text, { status: answer.status, headers: answer.headers })
    },
    stop: async () => {
      child.stdin.end()
      await complaints
    }
  }
}
