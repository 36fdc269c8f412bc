/**
 * Requests nobody means well with, made by fast-check from the contract: bodies that fit a route's
 * schema, the same with a few places spoiled, any JSON at all, and broken text; odd paths, parameters,
 * headers and credentials.
 */
import fc from "fast-check"
import { contractRoutes, resolved, type ContractRoute, type JsonSchema } from "./Contract.ts"

export interface HostileRequest {
  readonly route: ContractRoute
  /** With the query string. */
  readonly path: string
  readonly rawBody: string | Uint8Array | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: "right" | "none" | "wrong"
}

/** Strings that mean something to the server: ids, names, kinds; without them every request would stop at the door. */
export type KnownStrings = ReadonlyArray<string>

const nestingMax = 6

export const hostileRequest = (known: KnownStrings): fc.Arbitrary<HostileRequest> =>
  fc.constantFrom(...contractRoutes).chain((route) =>
    fc.record({
      route: fc.constant(route),
      path: pathOf(route, known),
      rawBody: route.body === undefined ? rarely(textOf(fc.jsonValue())) : bodyOf(route.body, known),
      headers: headersOf(),
      credentials: fc.oneof(
        { weight: 20, arbitrary: fc.constant("right" as const) },
        fc.constantFrom("none" as const, "wrong" as const)
      )
    })
  )

const rarely = <A>(arbitrary: fc.Arbitrary<A>): fc.Arbitrary<A | undefined> => fc.option(arbitrary, { nil: undefined })

const strings = (known: KnownStrings): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...known) },
    { weight: 2, arbitrary: fc.string({ maxLength: 40 }) },
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.string({ unit: "grapheme", minLength: 100, maxLength: 200 }),
    fc.constantFrom("", " ", "\0", "null", "1h", "0s", "2026-02-30", "9999999999w", "../../etc/passwd", "__proto__")
  )

const numbers = fc.oneof(
  fc.integer({ min: -2, max: 120 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, -1, 1e308, 5e-324, 8.64e15, 8.64e15 + 2, 2 ** 53 - 1, -(2 ** 53) + 1, 1.5, 1_893_456_000_000)
)

/** Values that fit the schema's shape; its finer rules are left to chance. */
const fitting = (given: JsonSchema, known: KnownStrings, depth: number): fc.Arbitrary<unknown> => {
  const schema = resolved(given)
  const within = (part: JsonSchema) => fitting(part, known, depth + 1)
  if (depth > nestingMax) return fc.constant(null)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined && choices.length > 0) return fc.oneof(...choices.map(within))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined && schema.enum.length > 0) return fc.constantFrom(...schema.enum)
  const type = typeof schema.type === "object" ? schema.type[0] : schema.type
  switch (type) {
    case "object":
      return objects(schema, known, depth)
    case "array": {
      const items = typeof schema.items === "object" ? schema.items : schema.prefixItems?.[0]
      return fc.array(items === undefined ? fc.jsonValue() : within(items), { maxLength: 4 })
    }
    case "string":
      return strings(known)
    case "number":
    case "integer":
      return numbers
    case "boolean":
      return fc.boolean()
    default:
      return fc.oneof(fc.jsonValue(), strings(known))
  }
}

const objects = (schema: JsonSchema, known: KnownStrings, depth: number): fc.Arbitrary<unknown> => {
  const fields = Object.entries(schema.properties ?? {})
  if (fields.length === 0)
    return fc.dictionary(strings(known), fc.oneof(strings(known), fc.jsonValue()), { maxKeys: 4 })
  return fc.record(Object.fromEntries(fields.map(([name, part]) => [name, fitting(part, known, depth + 1)])), {
    requiredKeys: (schema.required ?? []).filter((name) => fields.some(([field]) => field === name))
  })
}

const spoiled = (valid: unknown, spoilers: ReadonlyArray<readonly [number, unknown]>): unknown =>
  spoilers.reduce((value: unknown, [place, by]) => replaceAt(value, { left: place % 12 }, by), valid)

/** Puts `by` in place of the part that a walk reaches after `count.left` steps. */
const replaceAt = (value: unknown, count: { left: number }, by: unknown): unknown => {
  if (count.left-- === 0) return by
  if (Array.isArray(value)) return value.map((part: unknown) => replaceAt(part, count, by))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, replaceAt(part, count, by)]))
}

const textOf = (values: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  values.map((value) => JSON.stringify(value) ?? "")

const bodyOf = (schema: JsonSchema, known: KnownStrings): fc.Arbitrary<string | Uint8Array | undefined> => {
  const valid = fitting(schema, known, 0)
  const spoilers = fc.array(fc.tuple(fc.nat(11), fc.oneof(fc.jsonValue(), strings(known), numbers)), {
    minLength: 1,
    maxLength: 3
  })
  const broken = fc
    .tuple(textOf(valid), fc.nat(), fc.string({ unit: "binary", maxLength: 3 }))
    .map(([text, at, insert]) => text.slice(0, at % (text.length + 1)) + insert + text.slice(at % (text.length + 2)))
  return fc.oneof(
    { weight: 6, arbitrary: textOf(valid) },
    { weight: 8, arbitrary: textOf(fc.tuple(valid, spoilers).map(([value, by]) => spoiled(value, by))) },
    { weight: 2, arbitrary: textOf(fc.jsonValue()) },
    { weight: 2, arbitrary: broken },
    fc.uint8Array({ maxLength: 30 }),
    fc.constant(undefined)
  )
}

const pathOf = (route: ContractRoute, known: KnownStrings): fc.Arbitrary<string> => {
  const query = fc.record(
    Object.fromEntries(
      Object.entries(route.query).map(([name, schema]) => [
        name,
        fc.oneof(fitting(schema, known, 0).map(String), strings(known), numbers.map(String))
      ])
    ),
    { requiredKeys: Object.keys(route.query).filter((name) => name === "query" || name === "account") }
  )
  return fc.tuple(strings(known), query, fc.nat(9)).map(([parameter, parameters, oddity]) => {
    const path = route.path.replace(/:\w+/, encoded(parameter === "" ? "x" : parameter))
    const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encoded(String(value))}`)
    if (oddity === 0) pairs.push("limit=1", "limit=2", "%zz=%", "&&=")
    return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`
  })
}

/** A lone surrogate has no bytes to encode. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

const walletText = fc.constantFrom("0x1563915e194d8cfba1943570603f7606a3115508", "1".repeat(32), "0x", "operator")

/** Grants of the right form and nearly so, which nobody signed. */
const grantsText = fc
  .array(
    fc.record(
      {
        p: fc.oneof(
          fc.record({ f: walletText, g: walletText, e: fc.oneof(fc.constant(4_000_000_000), numbers) }),
          fc.jsonValue()
        ),
        s: fc.oneof(fc.constant(`0x${"11".repeat(64)}1b`), fc.string()),
        c: fc.constantFrom("evm", "sol", "")
      },
      { requiredKeys: ["p", "s"] }
    ),
    { maxLength: 11 }
  )
  .map((grants) => Buffer.from(JSON.stringify(grants)).toString("base64"))

/** Payments of the right form and nearly so, for a chain that no node answers for, of money that nobody has. */
const paymentText = fc
  .record(
    {
      x402Version: fc.constantFrom(1, 2, "2"),
      scheme: fc.constantFrom("exact", "", null),
      network: fc.constantFrom("base-sepolia", "eip155:84532", "solana-devnet", "__proto__"),
      accepted: fc.oneof(fc.jsonValue(), fc.constant({ scheme: "exact", network: "eip155:84532" })),
      payload: fc.oneof(
        fc.jsonValue(),
        fc.record({
          signature: fc.constantFrom(`0x${"11".repeat(64)}1b`, "0x", ""),
          authorization: fc.record({
            from: walletText,
            to: walletText,
            value: fc.oneof(fc.constantFrom("100000", "-1", "1e5", `1${"0".repeat(80)}`), numbers),
            validAfter: fc.constantFrom("0", "x"),
            validBefore: fc.constantFrom("4000000000", "0", `9${"9".repeat(80)}`),
            nonce: fc.constantFrom(`0x${"22".repeat(32)}`, "0x")
          })
        })
      )
    },
    { requiredKeys: ["x402Version", "payload"] }
  )
  .map((payment) => Buffer.from(JSON.stringify(payment)).toString("base64"))

const headersOf = (): fc.Arbitrary<Readonly<Record<string, string>>> => {
  const visible = fc.string({ minLength: 1, maxLength: 140 }).filter((text) => /^[\x21-\x7e]+$/.test(text))
  return fc
    .record(
      {
        "idempotency-key": fc.oneof(visible, fc.constantFrom("k1", "k2", "k3")),
        "content-type": fc.constantFrom("text/plain", "application/json; charset=utf-16", "application/json;", ""),
        "x-request-id": visible,
        "x-grants": fc.oneof(visible, grantsText),
        "x-wallet-address": fc.oneof(visible, walletText),
        "x-wallet-timestamp": fc.oneof(visible, fc.nat().map(String)),
        "x-wallet-signature": fc.oneof(visible, fc.constant(`0x${"11".repeat(64)}1b`)),
        "x-wallet-audience": fc.oneof(visible, fc.constantFrom("http://localhost", "HTTP://[::1]:0/", "https://")),
        "x-payment": fc.oneof(visible, paymentText),
        "payment-signature": fc.oneof(visible, paymentText),
        "x-agent-id": visible,
        accept: fc.constantFrom("text/csv", "text/csv;q=0", "*/*", "application/json, text/csv")
      },
      { requiredKeys: [] }
    )
    .map((headers) => (Object.keys(headers).length > 2 ? {} : headers))
}
