/** Grants in the client: the signed text, share codes and the header, against the vectors and the trust package. */
import { readFileSync } from "node:fs"
import { decodeShareCode, encodeShareCode, grantMessage, grantPrefix, grantsHeader } from "@muniment/client/Grant"
import { MunimentError } from "@muniment/client/MunimentError"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import { decodeGrantsHeader } from "@muniment/trust/GrantEnvelope"
import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"

interface Case {
  readonly name: string
  readonly prefix: string
  readonly grant: Grant
  readonly message: string
  readonly header: string
  readonly shareCode: string
}

const { cases }: { readonly cases: ReadonlyArray<Case> } = JSON.parse(readFileSync("test/vectors/grants.json", "utf8"))
const [{ grant }] = cases as [Case]

const codeOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof MunimentError) return `${error.status} ${error.code}`
  }
  return "no error"
}
const shareCodeOf = (text: string): string => `mshare_${Buffer.from(text).toString("base64url")}`

describe("grants in the client", () => {
  for (const { grant, header, message, name, prefix, shareCode } of cases) {
    it(`agree with the vector: ${name}`, () => {
      expect(grantMessage(prefix, grant.p)).toBe(message)
      expect(encodeShareCode([grant])).toBe(shareCode)
      expect(decodeShareCode(` ${shareCode}\n`)).toEqual([grant])
      expect(grantsHeader([grant])).toBe(header)
      expect(grantsHeader(shareCode)).toBe(header)
    })
  }

  it("begin with the name of the service, and drop what is undefined", () => {
    const payload: GrantPayload & { readonly extra?: undefined } = { ...grant.p, extra: undefined }
    expect(grantMessage(grantPrefix("muniment"), payload)).toBe(grantMessage("muniment:grant:v1:", grant.p))
  })

  it("are refused before they are sent when there are more than ten", () => {
    expect(codeOf(() => grantsHeader(Array(11).fill(grant)))).toBe("0 too_many_grants")
    expect(grantsHeader(Array(10).fill(grant))).not.toBe("")
  })

  for (const [name, code] of [
    ["another beginning", "share_W10"],
    ["no Base64", "mshare_%%%"],
    ["no JSON", shareCodeOf("[")],
    ["no array", shareCodeOf("{}")],
    ["an element that is no grant", shareCodeOf('[{"p":{"f":"0x1","g":"","e":1},"s":"","c":"evm"}]')],
    ["an expiry that is no integer", shareCodeOf('[{"p":{"f":"0x1","g":"0x2","e":1.5},"s":"","c":"evm"}]')],
    ["too much", `mshare_${"A".repeat(20_000)}`]
  ] as const) {
    it(`share codes with ${name} are refused`, () => {
      expect(codeOf(() => decodeShareCode(code))).toBe("0 invalid_grants_header")
    })
  }

  it("are read by the service as they were written, whatever the names", () => {
    const name = fc.string({ minLength: 1, unit: "grapheme", maxLength: 40 })
    const payload = fc.record(
      { f: name, g: name, e: fc.maxSafeInteger(), a: name, u: name },
      { requiredKeys: ["f", "g", "e"] }
    )
    const grants = fc.array(fc.record({ p: payload, s: fc.base64String(), c: fc.constantFrom("evm", "sol") }), {
      maxLength: 10
    })
    fc.assert(
      fc.property(grants, (list) => {
        const plain: ReadonlyArray<Grant> = JSON.parse(JSON.stringify(list))
        expect(decodeShareCode(encodeShareCode(plain))).toEqual(plain)
        expect(Result.getOrThrow(decodeGrantsHeader(grantsHeader(plain)))).toEqual(plain)
      })
    )
  })
})
