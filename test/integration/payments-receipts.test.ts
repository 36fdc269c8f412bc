/**
 * Receipts of payments (contract: Payments): the same whenever they are asked for, for the account that was credited
 * alone, and what a verifier that follows the published keys says of those by earlier keys.
 */
import {
  extractReceiptFromResponse,
  isJWSSignedReceipt,
  type SignedReceipt,
  verifyReceiptSignatureJWS
} from "@x402/extensions/offer-receipt"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, expect, it } from "vitest"
import { didKeyOf, ed25519PublicKey, signJws } from "@muniment/trust/Ed25519"
import {
  decodeHeader,
  depositPath,
  encodeHeader,
  newDepositor,
  newPayer,
  paymentsOf,
  signedDeposit,
  untilKnown
} from "../support/PaymentCalls.ts"
import { missingChains, type PaymentChains, startPaymentChains, testNetworks } from "../support/PaymentChains.ts"
import { type MortalServer, startMortalServer } from "../support/PaymentKills.ts"
import { everyDay } from "../support/Repetitions.ts"

const asOperator = (method: string, path: string, body?: object) => mortal.now().asOperator(method, path, body)

let chains: PaymentChains
let mortal: MortalServer

/** A published key, as a verifier keeps it. */
interface Key {
  readonly publicKey: string
  readonly retiredAt?: number
  readonly revokedAt?: number
}

const publishedKeys = async (): Promise<ReadonlyArray<Key>> => {
  const { body } = await mortal.now().call("GET", "/.well-known/muniment-keys.json", { key: null })
  return [{ publicKey: body.attestationPublicKey }, ...body.previousKeys]
}

/** The signing key on the disk: in the data directory, or in that of the node that serves. */
const currentKey = async (): Promise<{ readonly publicKey: string; readonly secretKey: string }> => {
  const [published] = await publishedKeys()
  const directory = mortal.dataDirectory
  const kept = ["", ...readdirSync(directory)]
    .map((folder) => join(directory, folder, "attestation-keys.json"))
    .filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, "utf8")).current)
  return kept.find(({ publicKey }) => publicKey === published!.publicKey)
}

const bytesOf = (hex: string) => Buffer.from(hex.replace(/^0x/, ""), "hex")
const kidOf = (signature: string): string =>
  JSON.parse(Buffer.from(signature.split(".", 1)[0]!, "base64url").toString()).kid

/** As the contract tells verifiers: the key that `kid` names is published, not revoked, and was not retired by then. */
const verdictOn = async (signature: string, keys: ReadonlyArray<Key>) => {
  const key = keys.find(({ publicKey }) => didKeyOf(bytesOf(publicKey)) === kidOf(signature))
  if (key === undefined) return "unknown key"
  const x = bytesOf(key.publicKey).toString("base64url")
  const receipt: SignedReceipt = { format: "jws", signature }
  const said = await verifyReceiptSignatureJWS(receipt, { kty: "OKP", crv: "Ed25519", alg: "EdDSA", x })
  if (key.revokedAt !== undefined) return "revoked key"
  return key.retiredAt !== undefined && said.issuedAt * 1_000 >= key.retiredAt ? "retired key" : said
}

const toldReceipt = (headers: Headers): string => {
  const receipt = extractReceiptFromResponse(new Response(null, { headers }))
  assert(receipt !== undefined && isJWSSignedReceipt(receipt))
  return receipt.signature
}

const pathOf = (name: string): string => `/v1/credits/payments/${encodeURIComponent(name)}/receipt`

describe.skipIf(missingChains !== "")(`receipts of payments${missingChains}`, () => {
  beforeAll(async () => {
    chains = await startPaymentChains()
    mortal = await startMortalServer(chains.environment)
  })
  afterAll(async () => {
    await mortal.end()
    await chains.stop()
  })

  it.each(everyDay(1, testNetworks))(
    "are the same bytes at any time, place and life of the service: %s",
    async (network) => {
      const { payer, payment, who } = await signedDeposit(mortal.now(), chains, network)
      const { headers } = await untilKnown(() => who.deposit(1, payment))
      const receipt = toldReceipt(headers)
      const { id, transaction } = (await paymentsOf(mortal.now()))[0]!
      const said = await verdictOn(receipt, await publishedKeys())
      const settledAt = Number(typeof said === "string" ? 0 : said.issuedAt)
      expect(said).toMatchObject({
        payer: payer.address,
        transaction,
        resourceUrl: `${mortal.now().url}/v1/credits/deposit`
      })

      while (Math.floor(Date.now() / 1_000) <= settledAt) await new Promise((wake) => setTimeout(wake, 50))
      const elsewhere = await fetch(`${mortal.now().url.replace("127.0.0.1", "localhost")}${depositPath(1)}`, {
        method: "POST",
        headers: { authorization: `Bearer ${who.secret}`, ...payment }
      })
      expect(await elsewhere.json()).toMatchObject({ replayed: true })
      expect(toldReceipt(elsewhere.headers)).toBe(receipt)

      await mortal.kill()
      await mortal.start()
      const server = mortal.now()
      const answer = { success: true, payment: id, receipt: { format: "jws", signature: receipt } }
      for (const name of [id, transaction!]) {
        const fetched = await server.call("GET", pathOf(name), { key: who.secret })
        expect([fetched.status, fetched.body]).toMatchObject([200, answer])
        expect(Math.floor(fetched.body.settledAt / 1_000)).toBe(settledAt)
      }
      const shown = await asOperator("GET", `/admin/payments/receipt?payment=${encodeURIComponent(id)}`)
      expect([shown.status, shown.body]).toMatchObject([200, answer])
    }
  )

  it("are for the account that was credited, and those of others look like none", async () => {
    const { payment, who } = await signedDeposit(mortal.now(), chains, "base-sepolia")
    await untilKnown(() => who.deposit(1, payment))
    const { id, transaction } = (await paymentsOf(mortal.now()))[0]!
    const other = await newDepositor(mortal.now())
    const foreign = await Promise.all([id, transaction!, "evm:1:2:3"].map((name) => other.call("GET", pathOf(name))))
    expect(foreign.map(({ body, status }) => ({ status, body }))).toEqual(
      Array.from({ length: 3 }, () => ({ status: 404, body: foreign[2]!.body }))
    )
    expect(foreign[0]!.body.code).toBe("payment_not_found")
    const unknown = await asOperator("GET", "/admin/payments/receipt?payment=evm:1:2:3")
    expect([unknown.status, unknown.body.code]).toEqual([404, "payment_not_found"])
  })

  it("say what the service has seen, whatever the payer's copy of the offer and a forged receipt say", async () => {
    const { payer, payment, who } = await signedDeposit(mortal.now(), chains, "base-sepolia")
    const [name, text] = Object.entries(payment)[0]!
    const sent = decodeHeader(text)
    const seed = bytesOf("7".repeat(64))
    const forged = signJws(
      { version: 1, network: "eip155:84532", payer: payer.address, resourceUrl: "https://rich.example/", issuedAt: 1 },
      { seed, kid: didKeyOf(ed25519PublicKey(seed)) }
    )
    const extensions = { "offer-receipt": { info: { receipt: { format: "jws", signature: forged }, offers: [] } } }
    const accepted = { ...sent.accepted, payTo: payer.address, amount: "1000000000", asset: payer.address }
    const resource = { url: "https://rich.example/", description: "a palace" }
    const bent = encodeHeader({ ...sent, accepted, extensions, resource })
    const { body, headers } = await untilKnown(() => who.deposit(1, { [name]: bent }))
    expect(body).toMatchObject({ success: true })
    expect(await who.balance()).toBe(1_000)
    const receipt = toldReceipt(headers)
    expect(receipt).not.toBe(forged)
    expect(await verdictOn(forged, await publishedKeys())).toBe("unknown key")
    expect(await verdictOn(receipt, await publishedKeys())).toMatchObject({
      payer: payer.address,
      resourceUrl: `${mortal.now().url}/v1/credits/deposit`
    })

    // Somebody else with the same header, bent again: neither credits nor the receipt.
    const thief = await newDepositor(mortal.now())
    const again = await thief.deposit(1, { [name]: encodeHeader({ ...sent, extensions: {} }) })
    expect([again.status, await thief.balance()]).toEqual([409, 0])
    expect(extractReceiptFromResponse(new Response(null, { headers: again.headers }))).toBeUndefined()
    expect(JSON.stringify(again.body)).not.toContain(who.name)
  })

  it("do not exist for payments that are not credited", async () => {
    const payer = await newPayer(chains, "base-sepolia")
    const who = await newDepositor(mortal.now())
    const payment = await who.sign(payer, 1)
    chains.rpc["base-sepolia"].failNext("eth_sendRawTransaction", "refuse", 1_000)
    expect((await who.deposit(1, payment)).status).toBe(202)
    const { id } = (await paymentsOf(mortal.now()))[0]!
    expect((await who.call("GET", pathOf(id))).status).toBe(404)
    chains.rpc["base-sepolia"].up()
    expect((await untilKnown(() => who.deposit(1, payment))).status).toBe(200)
    expect((await who.call("GET", pathOf(id))).status).toBe(200)
  })

  it("by a retired key hold if they are older, by a revoked one never; the current key says the same again", async () => {
    const { payment, who } = await signedDeposit(mortal.now(), chains, "base-sepolia")
    const first = toldReceipt((await untilKnown(() => who.deposit(1, payment))).headers)
    const { id } = (await paymentsOf(mortal.now()))[0]!
    const facts = await verdictOn(first, await publishedKeys())
    const current = await currentKey()
    const signedLater = (atSeconds: number) => {
      const seed = bytesOf(current.secretKey)
      return signJws({ ...Object(facts), issuedAt: atSeconds }, { seed, kid: didKeyOf(ed25519PublicKey(seed)) })
    }

    await asOperator("POST", "/admin/attestation-keys/rotate")
    const rotated = await publishedKeys()
    expect(await verdictOn(first, rotated)).toEqual(facts)
    expect(await verdictOn(signedLater(Math.ceil(rotated[1]!.retiredAt! / 1_000)), rotated)).toBe("retired key")
    const second: string = (await who.call("GET", pathOf(id))).body.receipt.signature
    expect([second === first, await verdictOn(second, rotated)]).toEqual([false, facts])

    await asOperator("POST", "/admin/attestation-keys/revoke", { publicKey: current.publicKey })
    const revoked = await publishedKeys()
    expect(await verdictOn(first, revoked)).toBe("revoked key")
    expect(await verdictOn(second, revoked)).toEqual(facts)
    expect((await who.call("GET", pathOf(id))).body.receipt.signature).toBe(second)
  })
})
