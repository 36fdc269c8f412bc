/**
 * The test vectors of the trust package as data. Keys are made up and fixed, so the same code makes the
 * same bytes: signatures here are deterministic (RFC 6979, RFC 8032). `writeTrustVectors.ts` writes them
 * to `test/vectors/`; implementations from other libraries are checked against the files.
 */
import { TestClock } from "effect/testing"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import {
  attestationAlgorithm,
  hexOf,
  makeAttestation,
  namespaceHash,
  signAttestation
} from "@muniment/trust/Attestation"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { grantId, grantMessage, grantPrefix, signGrant } from "@muniment/trust/Grant"
import { encodeGrantsHeader, encodeShareCode } from "@muniment/trust/GrantEnvelope"
import { type BoundText, signWalletRequest, walletRequestText } from "@muniment/trust/WalletRequest"
import { evmSigner, solanaSigner, type WalletSigner } from "@muniment/trust/WalletSigner"

/** A whole second, so that boundaries are easy to name. */
export const vectorTimeMillis = 1_800_000_000_000
const now = vectorTimeMillis / 1_000

export const evmWallet = evmSigner(`0x${"1c".repeat(32)}`)
export const otherEvmWallet = evmSigner(`0x${"2d".repeat(32)}`)
export const solWallet = solanaSigner(new Uint8Array(32).fill(0x3e))
export const otherSolWallet = solanaSigner(new Uint8Array(32).fill(0x4f))
export const attestationSeed = new Uint8Array(32).fill(0x5a)
export const prefixes = [grantPrefix("muniment"), grantPrefix("elder")]

/** The service that requests and grants of the vectors name, if they name one. */
export const audience = {
  name: "https://memory.example",
  isOwn: (origin: string) => origin === "https://memory.example",
  isRequired: false
}

export const setVectorTime = TestClock.setTime(vectorTimeMillis)

export const makeTrustVectors = async (): Promise<Readonly<Record<string, unknown>>> => ({
  "canonical-json.json": { accepted: canonicalCases(), refused: refusedTexts },
  "grants.json": { prefixes, nowSeconds: now, cases: await grantCases() },
  "wallet-requests.json": {
    versionPrefix: "/v1",
    nowMillis: vectorTimeMillis,
    audience: audience.name,
    cases: await requestCases()
  },
  "attestations.json": {
    algorithm: attestationAlgorithm,
    publicKey: hexOf(ed25519PublicKey(attestationSeed)),
    nowSeconds: now,
    cases: attestationCases(),
    namespaces: ["acc_01JCQW3Z5K8V7R2N4M6P9T0XYE", evmWallet.wallet.address, solWallet.wallet.address].map(
      (account) => ({
        service: "muniment",
        account,
        namespace: namespaceHash("muniment", account)
      })
    )
  }
})

/** As JSON text, since that is what a reader of another language starts from. */
const acceptedTexts: ReadonlyArray<readonly [name: string, input: string]> = [
  ["an empty object", "{}"],
  ["an empty array", " [ ] "],
  ["keys sorted at every level", '{"b": {"z": 1, "a": [ {"y": 0, "x": 1} ]}, "a": null, "": true}'],
  ["keys that differ in case and length", '{"aa": 1, "a": 2, "B": 3, "A": 4, "10": 5, "9": 6}'],
  [
    "code units, not code points: an astral key before U+FB33",
    '{"\\uFB33": 1, "😀": 2, "\\u20ac": 3, "\\r": 4, "ö": 5}'
  ],
  ["text of many alphabets, raw", '{"name": "Łukasz Żółć", "town": "京都", "note": "naïve — “quoted” 🧠"}'],
  [
    "escapes as short as they can be",
    '["\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\\\/", "\\u007f\\u2028\\u2029", "\\u0061\\uD83D\\uDE00"]'
  ],
  ["numbers as JavaScript prints them", "[0, -0, 1.0, -1.50, 1e2, 1E+15, 1e21, 12345678901234567e5, 0.1, 1e-6, 1e-7]"],
  ["numbers at the ends", "[5e-324, 1.7976931348623157e308, 9007199254740991, -9007199254740991, 333333333.33333329]"],
  ["numbers from RFC 8785", "[4.50, 2e-3, 0.000000000000000000000000001, 1E30]"],
  [
    "what contentHash covers",
    '{"kind": "contact", "agentId": "agent-1", "data": {"email": "a@example.org", "age": 41}}'
  ]
]

const refusedTexts = [
  { name: "a duplicate key", input: '{"a": 1, "a": 2}', reason: "duplicate_key" },
  { name: "a key that is duplicate once unescaped", input: '{"a": 1, "\\u0061": 2}', reason: "duplicate_key" },
  { name: "the prototype's key", input: '{"__proto__": {}}', reason: "prototype_key" },
  { name: "an integer beyond 2^53", input: "[9007199254740993]", reason: "unsafe_integer" },
  { name: "half a surrogate pair", input: '["\\ud800"]', reason: "lone_surrogate" },
  { name: "a number that overflows", input: "[1e400]", reason: "infinite_number" },
  { name: "65 arrays inside each other", input: "[".repeat(65) + "]".repeat(65), reason: "too_deep" }
]

const canonicalCases = () =>
  acceptedTexts.map(([name, input]) => {
    const canonical = canonicalJson(JSON.parse(input))
    return { name, input, canonical, sha256: sha256Hex(canonical) }
  })

const grantCases = async () => {
  const [usual, elder] = prefixes as [string, string]
  const caller = otherEvmWallet.wallet.address
  const plain: GrantPayload = { f: evmWallet.wallet.address, g: caller, e: now + 3_600 }
  const narrow: GrantPayload = { ...plain, a: "agent-1", u: "Łukasz" }
  const solana: GrantPayload = { f: solWallet.wallet.address, g: caller, e: now + 1, a: "agent-1" }
  const mixed: GrantPayload = { ...plain, f: checksummed(plain.f), g: caller.toUpperCase().replace("0X", "0x") }
  const signed = (signer: WalletSigner, payload: GrantPayload, prefix = usual) => signGrant(signer, prefix, payload)
  const valid = await signed(evmWallet, plain)
  const validSolana = await signed(solWallet, solana)
  const cases: ReadonlyArray<readonly [name: string, grant: Grant, expected: string, prefix?: string]> = [
    ["evm, everything", valid, "Usable"],
    ["evm, one agent and one subject", await signed(evmWallet, narrow), "Usable"],
    ["evm, addresses in another case", await signed(evmWallet, mixed), "Usable"],
    ["evm, under an older service name", await signed(evmWallet, plain, elder), "Usable", elder],
    ["sol, in its last second", validSolana, "Usable"],
    ["evm, for this service", await signed(evmWallet, { ...plain, o: audience.name }), "Usable"],
    ["evm, with superseded versions", await signed(evmWallet, { ...plain, h: true }), "Usable"],
    ["for another service", await signed(evmWallet, { ...plain, o: "https://other.example" }), "wrong_audience"],
    ["expired this second", await signed(evmWallet, { ...plain, e: now }), "expired"],
    ["to somebody else", await signed(evmWallet, { ...plain, g: solWallet.wallet.address }), "not_for_caller"],
    ["from the caller", await signed(otherEvmWallet, { ...plain, f: caller }), "self_grant"],
    ["longer than was signed", { ...valid, p: { ...plain, e: plain.e + 1 } }, "bad_signature"],
    ["wider than was signed", { ...(await signed(evmWallet, narrow)), p: plain }, "bad_signature"],
    ["signed by another", { ...(await signed(otherEvmWallet, plain)) }, "bad_signature"],
    ["under a name that is not configured", await signed(evmWallet, plain, "stranger:grant:v1:"), "bad_signature"],
    ["sol, signed by another", { ...validSolana, s: (await signed(otherSolWallet, solana)).s }, "bad_signature"],
    ["of an unknown chain family", { ...valid, c: "btc" }, "unknown_family"],
    ["of the other chain family", { ...valid, c: "sol" }, "bad_grantor"]
  ]
  return cases.map(([name, grant, expected, prefix = usual]) => ({
    name,
    identities: [caller],
    prefix,
    grant,
    canonicalPayload: canonicalJson(grant.p),
    message: grantMessage(prefix, grant.p),
    grantId: grantId(grant.p),
    header: encodeGrantsHeader([grant]),
    shareCode: encodeShareCode([grant]),
    expected
  }))
}

/** Some letters in capitals; the checksum of EIP-55 itself plays no part here. */
const checksummed = (address: string): string => `0x${address.slice(2, 22).toUpperCase()}${address.slice(22)}`

const requestCases = async () => {
  const search = { method: "GET", url: "/v1/memories/search?query=caf%C3%A9&limit=3", body: "" }
  const create = { method: "POST", url: "/v1/memories", body: '{"agentId":"agent-1","memories":[]}' }
  const mcp = { method: "POST", url: "/mcp", body: '{"jsonrpc":"2.0"}' }
  const here = { audience: audience.name, headers: {} }
  const write = { "idempotency-key": "order 17", "content-type": "application/json" }
  const scoped = { "x-agent-id": "agent-1", "x-subject-id": "kim", "x-thread-id": "t", "x-grants": "W10=" }
  const at = vectorTimeMillis
  const rows: ReadonlyArray<
    readonly [
      name: string,
      signer: WalletSigner,
      request: typeof search,
      path: string,
      time: number,
      expected: string,
      bound?: BoundText
    ]
  > = [
    ["evm, below the prefix, with query", evmWallet, search, search.url.slice(3), at, "Verified"],
    ["evm, below the prefix, without query", evmWallet, search, "/memories/search", at, "Verified"],
    ["evm, in full, with query", evmWallet, search, search.url, at, "Verified"],
    ["evm, in full, without query", evmWallet, search, "/v1/memories/search", at, "Verified"],
    ["sol, with a body, at the early end of the window", solWallet, create, "/memories", at - 120_000, "Verified"],
    ["sol, with a body, at the late end of the window", solWallet, create, "/memories", at + 120_000, "Verified"],
    ["evm, a path without version", evmWallet, mcp, "/mcp", at, "Verified"],
    ["too old by a millisecond", evmWallet, create, "/memories", at - 120_001, "timestamp_out_of_range"],
    ["too new by a millisecond", evmWallet, create, "/memories", at + 120_001, "timestamp_out_of_range"],
    ["signed for another path", solWallet, create, "/memories/batch/delete", at, "invalid_signature"],
    ["signed with another query", evmWallet, search, "/memories/search?query=tea", at, "invalid_signature"],
    ["evm, the full text", evmWallet, search, search.url, at, "Verified", here],
    ["sol, the full text, a write", solWallet, create, create.url, at, "Verified", { ...here, headers: write }],
    ["evm, the full text, every bound header", evmWallet, mcp, mcp.url, at, "Verified", { ...here, headers: scoped }],
    ["the full text without its query", evmWallet, search, "/v1/memories/search", at, "invalid_signature", here],
    ["the full text below the prefix", evmWallet, create, "/memories", at, "invalid_signature", here],
    [
      "for another service",
      evmWallet,
      create,
      create.url,
      at,
      "wrong_audience",
      { ...here, audience: "https://a.example" }
    ],
    [
      "for this service without its scheme",
      evmWallet,
      mcp,
      mcp.url,
      at,
      "wrong_audience",
      { ...here, audience: "memory.example" }
    ]
  ]
  return Promise.all(
    rows.map(async ([name, signer, request, path, timestampMillis, expected, bound]) => {
      const text = { method: request.method, path, body: request.body, timestampMillis, bound }
      const headers = { ...bound?.headers, ...(await signWalletRequest(signer, text)) }
      return { name, family: signer.wallet.family, ...request, path, text: walletRequestText(text), headers, expected }
    })
  )
}

const attestationCases = () => {
  const result = { satisfied: true, matchCount: 3, namespace: namespaceHash("muniment", evmWallet.wallet.address) }
  const make = (
    claim: string,
    params: Record<string, string | number | ReadonlyArray<string> | Filters>,
    validSeconds = 86_400
  ) =>
    makeAttestation({
      claim,
      params,
      result,
      nowMillis: vectorTimeMillis - 999,
      validSeconds,
      issuer: "muniment.example"
    })
  /** Attestations have whole seconds. */
  const madeMillis = vectorTimeMillis - 1_000
  const hashes = ["a", "b"].map((text) => `0x${sha256Hex(text)}`)
  const cases = [
    ["a count", make("memory_count_gte", { threshold: 3 })],
    ["a query with every filter", make("has_memories_matching", { query: "café ☕ 🧠", filters: allFilters })],
    ["a schema", make("has_schema", { schemaName: "contact" })],
    [
      "the source of shared memories",
      make("shared_memories_from", { grantor: solWallet.wallet.address, memoryHashes: hashes })
    ],
    ["in its last second", make("memory_count_gte", { threshold: 0 }, 2)],
    ["expired this second", make("memory_count_gte", { threshold: 0 }, 1), "expired"],
    ["in the last second of its key", make("has_schema", { schemaName: "a" }), "valid", { retiredAt: madeMillis + 1 }],
    ["dated at the end of its key", make("has_schema", { schemaName: "a" }), "retired_key", { retiredAt: madeMillis }],
    [
      "before the end of a key that was revoked",
      make("has_schema", { schemaName: "a" }),
      "revoked_key",
      { retiredAt: madeMillis + 1_000, revokedAt: madeMillis + 2_000 }
    ]
  ] as const
  const signed = cases.map(([name, attestation, expected = "valid", key]) => ({
    name,
    ...(key !== undefined && { key }),
    canonical: canonicalJson(attestation),
    ...signAttestation(attestation, attestationSeed),
    expected
  }))
  const altered = { ...signed[0]!.attestation, result: { ...result, matchCount: 4 } }
  return [
    ...signed,
    {
      ...signed[0]!,
      name: "altered",
      attestation: altered,
      canonical: canonicalJson(altered),
      expected: "bad_signature"
    }
  ]
}

interface Filters {
  readonly [key: string]: string | ReadonlyArray<string>
}

const allFilters: Filters = { agentId: "agent-1", subjectId: "s", kind: "contact", tags: ["x", "ä"] }
