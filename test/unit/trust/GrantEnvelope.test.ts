/** Headers and share codes: what is read, what is malformed, what is too much. */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import {
  decodeGrantsHeader,
  decodeShareCode,
  encodeGrantsHeader,
  encodeShareCode,
  grantsPerRequestMax,
  grantsTextLengthMax
} from "@muniment/trust/GrantEnvelope"

const grant = { p: { f: "0xa", g: "ü?>", e: 1_800_000_000, a: "agent-1" }, s: "0x00", c: "evm" }
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64")
const codeOf = (text: string) =>
  Result.match(decodeGrantsHeader(text), { onFailure: ({ code }) => code, onSuccess: () => "read" })

describe("GrantEnvelope", () => {
  it("reads what it writes, in standard and in url-safe Base64, padded or not", () => {
    const header = encodeGrantsHeader([grant, { ...grant, c: "sol" }])
    const urlSafe = header.replaceAll("+", "-").replaceAll("/", "_")
    for (const text of [header, urlSafe, header.replace(/=+$/, ""), ` ${header} `]) {
      expect(Result.getOrThrow(decodeGrantsHeader(text))).toEqual([grant, { ...grant, c: "sol" }])
    }
    const code = encodeShareCode([grant])
    expect(code).toMatch(/^mshare_[A-Za-z0-9_-]+$/)
    expect(Result.getOrThrow(decodeShareCode(`${code}\n`))).toEqual([grant])
  })

  it("reads no grants of an empty header or list", () => {
    expect(Result.getOrThrow(decodeGrantsHeader(""))).toEqual([])
    expect(Result.getOrThrow(decodeGrantsHeader(base64("[]")))).toEqual([])
  })

  it("keeps members it does not know, for the signature covers them", () => {
    const wider = [{ ...grant, p: { ...grant.p, k: 1 } }]
    expect(Result.getOrThrow(decodeGrantsHeader(base64(JSON.stringify(wider))))).toEqual(wider)
  })

  it("takes ten grants and not eleven", () => {
    const list = (count: number) => base64(JSON.stringify(Array.from({ length: count }, () => grant)))
    expect(codeOf(list(grantsPerRequestMax))).toBe("read")
    expect(codeOf(list(grantsPerRequestMax + 1))).toBe("too_many_grants")
    expect(codeOf(base64(JSON.stringify(Array(11).fill(0))))).toBe("too_many_grants")
  })

  it("keeps the place of an element that is no grant, and reads the others; a share code has none", () => {
    for (const element of [
      1,
      null,
      [],
      { ...grant, s: 1 },
      { ...grant, p: { ...grant.p, e: 1.5 } },
      { ...grant, p: { ...grant.p, e: "1" } },
      { ...grant, p: { ...grant.p, a: null } },
      { ...grant, p: { ...grant.p, f: "" } },
      { p: grant.p, s: "0x" }
    ]) {
      const text = base64(JSON.stringify([grant, element, grant]))
      expect(Result.getOrThrow(decodeGrantsHeader(text))).toEqual([grant, undefined, grant])
      expect(Result.isFailure(decodeShareCode(`mshare_${text}`))).toBe(true)
    }
  })

  it("keeps the place of one that JSON.parse would change, too", () => {
    const whole = JSON.stringify(grant)
    for (const element of [
      whole.replace('"e":', '"e":1,"e":'),
      whole.replace("1800000000", "1800000000000000000"),
      '{"__proto__":{"a":"]},["}}',
      '["\\ud800"]',
      `${"[".repeat(80)}${"]".repeat(80)}`
    ]) {
      const text = base64(`[ ${whole}, ${element} ,${whole}]`)
      expect(Result.getOrThrow(decodeGrantsHeader(text)), element).toEqual([grant, undefined, grant])
    }
  })

  it("refuses what is no Base64, no UTF-8, no JSON, no list, or too long", () => {
    const elements = ["1", "{}", `\uFEFF${JSON.stringify([grant])}`].map(base64)
    const others = [
      "!",
      "a b",
      "=",
      base64("nonsense"),
      base64(new Uint8Array([0x5b, 0xff, 0x5d])),
      "A".repeat(grantsTextLengthMax + 1)
    ]
    for (const text of [...elements, ...others]) expect(codeOf(text), text.slice(0, 80)).toBe("invalid_grants_header")
    expect(Result.isFailure(decodeShareCode(encodeGrantsHeader([grant])))).toBe(true)
  })
})
