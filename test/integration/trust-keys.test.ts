/**
 * The published keys of attestations (contract: Attestations): who may read them, under which names, and that
 * attestations outlive restarts and rotations.
 */
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { verifyAttestation } from "@muniment/client/Attestation"
import { fact } from "../support/MemoryCalls.ts"
import { runsOnOneBox } from "../support/OneBox.ts"
import { type Answer, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import {
  evmWallet,
  grantsHeader,
  isVerifiedOffline,
  sha256Text,
  signedGrant,
  walletCalls
} from "../support/TrustCalls.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = {
  MUNIMENT_EMBEDDING_MODEL: "none",
  MUNIMENT_SERVICE_NAME: "archive",
  MUNIMENT_KEY_FILE_ALIASES: "elder, oldest.name"
}
const dataDirectory = temporaryDirectory()
const keyFile = join(dataDirectory, "attestation-keys.json")
const path = "/.well-known/archive-keys.json"

let server: TestServer

beforeAll(async () => {
  server = await startServer({ dataDirectory, environment })
})
afterAll(async () => {
  await server.stop()
})

const published = async (): Promise<Answer["body"]> => (await server.call("GET", path, { key: null })).body
const attest = async (): Promise<Answer["body"]> => {
  const { status, body } = await server.call("POST", "/v1/attestations", {
    body: { claim: "memory_count_gte", threshold: 0 }
  })
  expect(status).toBe(200)
  return body
}

describe("the key file", () => {
  it("is read by anybody, kept for an hour by caches, and open to every origin", async () => {
    const { status, headers, body } = await server.call("GET", path, { key: null })
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^application\/json/)
    expect(headers.get("cache-control")).toBe("public, max-age=3600")
    expect(headers.get("access-control-allow-origin")).toBe("*")
    expect(body).toEqual({
      attestationPublicKey: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      algorithm: "Ed25519",
      issuedAt: expect.any(Number),
      previousKeys: []
    })
    expect(Math.abs(body.issuedAt - Date.now())).toBeLessThan(600_000)
  })

  it("needs no credentials and minds no wrong ones", async () => {
    const headers = { "x-wallet-signature": "0x00", "x-grants": "not Base64!" }
    for (const key of [null, "mun_nobody"]) expect((await server.call("GET", path, { key, headers })).status).toBe(200)
  })

  it("is published under the service's name and every alias, and no other", async () => {
    const keys = await published()
    for (const name of ["elder", "oldest.name"]) {
      expect((await server.call("GET", `/.well-known/${name}-keys.json`, { key: null })).body).toEqual(keys)
    }
    for (const name of ["muniment", "Archive", "oldestXname", ""]) {
      const { status, body } = await server.call("GET", `/.well-known/${name}-keys.json`, { key: null })
      expect([name, status, body.code]).toEqual([name, 404, "route_not_found"])
    }
    for (const other of ["/v1/.well-known/archive-keys.json", "/.well-known/", `${path}/`]) {
      expect((await server.call("GET", other, { key: null })).status).toBe(404)
    }
  })

  it("can only be read", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const { status, headers, body } = await server.call(method, path, { key: null })
      expect([method, status, body.code, headers.get("allow")]).toEqual([method, 405, "method_not_allowed", "GET"])
    }
  })

  it.runIf(runsOnOneBox("directoryFiles"))(
    "lies in the data directory for its owner alone, with a secret that the service never tells",
    async () => {
      expect(statSync(keyFile).mode & 0o777).toBe(0o600)
      const { current } = JSON.parse(readFileSync(keyFile, "utf8"))
      expect(current.publicKey).toBe((await published()).attestationPublicKey)
      expect(current.secretKey).toMatch(/^0x[0-9a-f]{64}$/)
      const answers = await Promise.all(
        [path, "/metrics", "/openapi.json", "/health/ready"].map((page) => server.call("GET", page, { key: null }))
      )
      const status = await server.asOperator("GET", "/admin/status")
      const told = JSON.stringify([answers, status, await attest(), server.output()])
      expect(told).not.toContain(current.secretKey.slice(2))
    }
  )
})

describe("attestations", () => {
  it("are by the service of the configured name, in issuer, namespace and grants", async () => {
    const { attestation } = await attest()
    const { body: who } = await server.call("GET", "/v1/account")
    expect(attestation.issuer).toBe("archive")
    expect(attestation.result.namespace).toBe(`0x${sha256Text(`archive:ns:v1:${who.account.id}`)}`)
    const signer = evmWallet("keys")
    await walletCalls(server, signer).create("a", [fact("tea", "jasmine")])
    const found = async (prefix: string) => {
      const headers = grantsHeader([await signedGrant(signer, { g: who.account.id }, prefix)])
      const { body } = await server.call("GET", "/v1/memories/search?query=jasmine&scope=shared", { headers })
      return body.memories.length
    }
    expect([await found("archive:grant:v1:"), await found("muniment:grant:v1:")]).toEqual([1, 0])
  })

  it("verify after a restart, with the same key", async () => {
    const keys = await published()
    const signed = await attest()
    await server.stop()
    server = await startServer({ dataDirectory, environment })
    expect(await published()).toEqual(keys)
    expect(isVerifiedOffline(signed, (await published()).attestationPublicKey)).toBe(true)
  })

  it.runIf(runsOnOneBox("directoryFiles"))("lie after a restart in a file for its owner alone, too", () => {
    expect(statSync(keyFile).mode & 0o777).toBe(0o600)
  })

  it("verify after a rotation with the earlier key, new ones with the new; also after a restart", async () => {
    const before = await published()
    const earlier = await attest()
    const rotate = (key: string | null) => server.call("POST", "/admin/attestation-keys/rotate", { key })
    expect([(await rotate(null)).status, (await rotate("mun_nobody")).status]).toEqual([401, 403])
    expect(await published()).toEqual(before)
    expect((await rotate(server.operatorToken)).status).toBe(200)
    const after = await published()
    expect(after.attestationPublicKey).not.toBe(before.attestationPublicKey)
    expect(after.previousKeys).toEqual([
      { publicKey: before.attestationPublicKey, issuedAt: before.issuedAt, retiredAt: after.issuedAt }
    ])
    const later = await attest()
    expect(later.publicKey).toBe(after.attestationPublicKey)
    const verified = (signed: Answer["body"]) =>
      [after.attestationPublicKey, after.previousKeys[0].publicKey].map((key) => isVerifiedOffline(signed, key))
    expect([verified(later), verified(earlier)]).toEqual([
      [true, false],
      [false, true]
    ])
    await server.stop()
    server = await startServer({ dataDirectory, environment })
    expect(await published()).toEqual(after)
    // On several nodes it is in the database, and in a file of the one that owns `control.db`.
    if (runsOnOneBox("directoryFiles")) expect(statSync(keyFile).mode & 0o777).toBe(0o600)
    expect(isVerifiedOffline(await attest(), after.attestationPublicKey)).toBe(true)
  })

  it("by a key that others may know are withdrawn by the operator, who finds that in the audit log", async () => {
    const before = await published()
    const signed = await attest()
    const revoke = (publicKey: string, key: string | null = server.operatorToken) =>
      server.call("POST", "/admin/attestation-keys/revoke", { key, body: { publicKey } })
    expect((await revoke(before.attestationPublicKey, null)).status).toBe(401)
    expect((await revoke(before.attestationPublicKey, "mun_nobody")).status).toBe(403)
    expect(refusalOf(await revoke(`0x${"0".repeat(64)}`))).toEqual([404, "key_not_found"])
    expect((await revoke("0x00")).status).toBe(400)
    expect(await published()).toEqual(before)

    expect((await revoke(before.attestationPublicKey)).status).toBe(200)
    const after = await published()
    expect(after.previousKeys[0]).toEqual({
      publicKey: before.attestationPublicKey,
      issuedAt: before.issuedAt,
      retiredAt: after.issuedAt,
      revokedAt: expect.any(Number)
    })
    const { body: listed } = await server.asOperator("GET", "/admin/attestation-keys")
    expect(listed).toEqual({ success: true, ...after })
    const nowSeconds = Date.now() / 1_000
    expect(await verifyAttestation(signed, before, nowSeconds)).toEqual({ valid: true })
    expect(await verifyAttestation(signed, after, nowSeconds)).toEqual({ valid: false, reason: "revoked_key" })
    expect(await verifyAttestation(await attest(), after, nowSeconds)).toEqual({ valid: true })
    const { body: log } = await server.asOperator("GET", "/admin/audit")
    expect(log.events[0]).toMatchObject({
      action: "admin.revokeAttestationKey",
      subject: before.attestationPublicKey,
      detail: { publicKey: before.attestationPublicKey }
    })
  })
})
