/**
 * Wallets as callers of a `TestServer`: the requests and grants that they sign, and a check of attestations with Node's
 * crypto alone. Texts are built here by hand, so that the server is held to the contract and not to its own code.
 */
import { createHash, createPublicKey, verify } from "node:crypto"
import { expect } from "vitest"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import { evmSigner, solanaSigner, type WalletSigner } from "@muniment/trust/WalletSigner"
import { creatingExpired, type MemoryCalls } from "./MemoryCalls.ts"
import type { Answer, ServerCalls } from "./TestServer.ts"

const sha256 = (input: string | Uint8Array) => createHash("sha256").update(input).digest()
export const sha256Text = (input: string | Uint8Array): string => sha256(input).toString("hex")

/** The same name, the same wallet. */
export const evmWallet = (name: string): WalletSigner => evmSigner(sha256Text(`evm ${name}`))
export const solWallet = (name: string): WalletSigner => solanaSigner(new Uint8Array(sha256(`sol ${name}`)))

/** What is signed, where it differs from what is sent. */
export interface Signing {
  readonly method?: string
  /** Default: the path below the version prefix, with its query. */
  readonly path?: string
  readonly body?: string
  readonly timestampMillis?: number
}

export const walletHeaders = async (
  { sign, wallet }: WalletSigner,
  method: string,
  path: string,
  body = "",
  signing: Signing = {}
): Promise<Record<string, string>> => {
  const timestamp = String(signing.timestampMillis ?? Date.now())
  const signedPath = signing.path ?? path.replace(/^\/v1/, "")
  const text = `${signing.method ?? method}|${signedPath}|${sha256Text(signing.body ?? body)}|${timestamp}`
  return {
    "x-wallet-address": wallet.address,
    "x-wallet-timestamp": timestamp,
    "x-wallet-signature": await sign(text)
  }
}

/** Headers of the full text, which names the service and binds headers; `bound` by lower-case name. */
export const fullHeaders = async (
  { sign, wallet }: WalletSigner,
  method: string,
  path: string,
  rest: { readonly audience: string; readonly body?: string; readonly bound?: Readonly<Record<string, string>> }
): Promise<Record<string, string>> => {
  const timestamp = String(Date.now())
  const lines = Object.entries(rest.bound ?? {})
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${name}:${value}\n`)
  const plain = `${method}|${path}|${sha256Text(rest.body ?? "")}|${timestamp}`
  return {
    "x-wallet-address": wallet.address,
    "x-wallet-timestamp": timestamp,
    "x-wallet-audience": rest.audience,
    "x-wallet-signature": await sign(`${plain}|${rest.audience}|${sha256Text(lines.join(""))}`)
  }
}

/** Calls signed by a wallet; `search` and `create` as those of an account with a key. */
export const walletCalls = (server: ServerCalls, signer: WalletSigner): Omit<MemoryCalls, "key"> => {
  const call: MemoryCalls["call"] = async (method, path, options = {}) => {
    const rawBody = options.body === undefined ? undefined : JSON.stringify(options.body)
    const signed = await walletHeaders(signer, method, path, rawBody)
    const headers = { ...signed, ...options.headers }
    return server.call(method, path, { key: null, headers, ...(rawBody !== undefined && { rawBody }) })
  }
  const succeeding = async (method: string, path: string, body?: unknown): Promise<Answer["body"]> => {
    const answer = await call(method, path, { body })
    expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
    return answer.body
  }
  const create: MemoryCalls["create"] = async (agentId, memories, rest = {}) =>
    (await succeeding("POST", "/v1/memories", { agentId, memories, ...rest })).created
  return {
    call,
    post: (path, body, headers = {}) => call("POST", path, { body, headers }),
    create,
    createExpired: creatingExpired(create),
    search: async (parameters) =>
      (await succeeding("GET", `/v1/memories/search?${new URLSearchParams(parameters)}`)).memories,
    get: async (id) => (await succeeding("GET", `/v1/memories/${id}`)).memory
  }
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

/** Keys sorted at every level, no spaces; for payloads and attestations, which hold plain text and integers. */
const sortedJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`).join(",")}}`
}

/** A grant by `signer`, an hour long unless `e` says otherwise. */
export const signedGrant = async (
  signer: WalletSigner,
  payload: Omit<GrantPayload, "f" | "e"> & Partial<GrantPayload>,
  prefix = "muniment:grant:v1:"
): Promise<Grant> => {
  const p = { f: signer.wallet.address, e: nowSeconds() + 3_600, ...payload }
  const signature = await signer.sign(prefix + Buffer.from(sortedJson(p)).toString("base64"))
  return { p, s: signature, c: signer.wallet.family }
}

export const grantsHeader = (grants: unknown): Record<string, string> => ({
  "x-grants": Buffer.from(JSON.stringify(grants)).toString("base64")
})

export const searchPath = (parameters: Readonly<Record<string, string>>): string =>
  `/v1/memories/search?${new URLSearchParams(parameters)}`

/** DER of an Ed25519 public key up to the key itself (RFC 8410). */
const ed25519DerPrefix = "302a300506032b6570032100"

/** Whether the signature is that of the published key over the attestation, by Node's crypto. */
export const isVerifiedOffline = (
  { attestation, signature }: { readonly attestation: unknown; readonly signature: string },
  publicKey: string
): boolean => {
  const key = createPublicKey({
    key: Buffer.from(ed25519DerPrefix + publicKey.slice(2), "hex"),
    format: "der",
    type: "spki"
  })
  return verify(undefined, Buffer.from(sortedJson(attestation)), key, Buffer.from(signature.slice(2), "hex"))
}

export const publishedKeys = async (server: ServerCalls): Promise<Answer["body"]> =>
  (await server.call("GET", "/.well-known/muniment-keys.json", { key: null })).body
