/** The validator on ordinary work, and on hostile work beside it. Real workers, real time. */
import { layer } from "@effect/vitest"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { openValidationThread, threadLimits, waitingRequestsOfTenantMax } from "@muniment/schemas/ValidationLane"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { describe, expect, it as plain } from "@effect/vitest"
import { cpuMillisNow } from "../../support/CpuTime.ts"

const draft07 = "http://json-schema.org/draft-07/schema#"
const modern = "https://json-schema.org/draft/2020-12/schema"

const item = (schema: unknown, data: unknown) => ({ schemaText: JSON.stringify(schema), data })

const outcomeOf = (schema: unknown, data: unknown) =>
  Effect.map(
    SchemaValidator.use((validator) => validator.validate([item(schema, data)])),
    (outcomes) => outcomes[0]!
  )

const issuesOf = (schema: unknown, data: unknown) =>
  Effect.map(outcomeOf(schema, data), (outcome) => (outcome.ok ? [] : outcome.issues))

/** Every check is linear, but there are 400 of them over 12,000 numbers: about a second. */
const slow = item(
  { type: "object", properties: { a: { allOf: Array.from({ length: 400 }, () => ({ uniqueItems: true })) } } },
  { a: Array.from({ length: 12_000 }, (_, i) => i) }
)
const tooLong = [{ path: "", message: "validation took longer than 250 ms of processor time" }]
const fine = item({ type: "object", required: ["a"] }, { a: 1 })

layer(SchemaValidator.layer, { excludeTestServices: true })("the validator", (it) => {
  it.effect("answers each item in order, valid or not", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const outcomes = yield* validator.validate([fine, item({ type: "object", required: ["b"] }, { a: 1 }), fine])
      expect(outcomes).toEqual([
        { ok: true, data: { a: 1 } },
        { ok: false, issues: [{ path: "", message: "must have required property 'b'" }] },
        { ok: true, data: { a: 1 } }
      ])
      expect(yield* validator.validate([])).toEqual([])
    })
  )

  it.effect("fills defaults in without touching the caller's data", () =>
    Effect.gen(function* () {
      const schema = {
        $schema: modern,
        type: "object",
        properties: {
          tone: { type: "string", default: "plain" },
          at: { type: "object", default: {}, properties: { n: { default: 1 } } }
        }
      }
      const data = {}
      expect(yield* outcomeOf(schema, data)).toEqual({ ok: true, data: { tone: "plain", at: { n: 1 } } })
      expect(data).toEqual({})
    })
  )

  it.effect("takes what Zod emits and names the property that is too much", () =>
    Effect.gen(function* () {
      const schema = {
        $schema: modern,
        type: "object",
        properties: {
          name: { type: "string", minLength: 1 },
          email: { type: "string", format: "email", pattern: "^[^@]+@[^@]+$" },
          tags: { default: [], type: "array", items: { type: "string" } },
          age: { type: "integer", minimum: 0, maximum: 9007199254740991 }
        },
        required: ["name", "email", "tags", "age"],
        additionalProperties: false
      }
      const right = { name: "Ada", email: "ada@example.org", age: 36 }
      expect(yield* outcomeOf(schema, right)).toEqual({ ok: true, data: { ...right, tags: [] } })
      expect(yield* issuesOf(schema, { ...right, age: -1, email: "ada", extra: 1 })).toEqual([
        { path: "", message: `must NOT have additional properties: "extra"` },
        { path: "/email", message: `must match pattern "^[^@]+@[^@]+$"` },
        { path: "/email", message: `must match format "email"` },
        { path: "/age", message: "must be >= 0" }
      ])
    })
  )

  it.effect("reads tuples as each dialect means them", () =>
    Effect.gen(function* () {
      const tuple = [{ type: "string" }, { type: "integer" }]
      const data = { pair: ["a", "b"] }
      const wrong = [{ path: "/pair/1", message: "must be integer" }]
      const old = { $schema: draft07, type: "object", properties: { pair: { items: tuple } } }
      expect(yield* issuesOf(old, data)).toEqual(wrong)
      expect(yield* issuesOf({ type: "object", properties: { pair: { prefixItems: tuple } } }, data)).toEqual(wrong)
    })
  )

  it.effect("checks dates against the calendar", () =>
    Effect.gen(function* () {
      const schema = {
        type: "object",
        properties: { d: { format: "date" }, t: { format: "date-time" }, u: { format: "uuid" } }
      }
      const right = { d: "2024-02-29", t: "2026-11-21T09:00:00Z", u: "0195c7a0-0000-7000-8000-000000000000" }
      expect(yield* outcomeOf(schema, right)).toEqual({ ok: true, data: right })
      const issues = yield* issuesOf(schema, { d: "2026-02-29", t: "2026-13-01T00:00:00Z", u: "no" })
      expect(issues.map(({ path }) => path)).toEqual(["/d", "/t", "/u"])
    })
  )

  it.effect("takes the built-in kinds with extra properties and refuses their wrong values", () =>
    Effect.gen(function* () {
      const schemas = builtinKinds.map(({ schema }): unknown => JSON.parse(schema))
      const preference = { subject: "Ada", preferenceType: "likes", preference: "tea", mood: "calm" }
      expect(yield* outcomeOf(schemas[0], preference)).toEqual({ ok: true, data: preference })
      expect(yield* issuesOf(schemas[0], { ...preference, preferenceType: "adores" })).toEqual([
        {
          path: "/preferenceType",
          message: `must be equal to one of the allowed values: ["likes","dislikes","prefers","avoids","wants","needs"]`
        }
      ])
      for (const eventDate of ["2026-05-01", "2026-05-01T10:00:00+02:00"]) {
        expect((yield* outcomeOf(schemas[2], { event: "Wedding", eventDate })).ok).toBe(true)
      }
    })
  )

  it.effect("lists at most 20 issues, each of bounded length", () =>
    Effect.gen(function* () {
      const schema = { type: "object", additionalProperties: { type: "string" } }
      const data = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${"n".repeat(400)}${i}`, i]))
      const issues = yield* issuesOf(schema, data)
      expect(issues.length).toBe(20)
      for (const { message, path } of issues) expect(path.length + message.length).toBeLessThanOrEqual(512)
    })
  )

  it.effect("does not take inherited members for properties", () =>
    Effect.gen(function* () {
      const schema = { type: "object", required: ["constructor"], properties: { toString: { type: "string" } } }
      expect((yield* issuesOf(schema, {})).map(({ message }) => message)).toEqual([
        "must have required property 'constructor'"
      ])
      const hostile: unknown = JSON.parse(`{"a":{"__proto__":{"isAdmin":true}}}`)
      expect(yield* issuesOf({ type: "object" }, hostile)).toEqual([
        { path: "/a", message: "must NOT have a property named __proto__" }
      ])
      const valueOf = { a: { valueOf: 1 } }
      expect((yield* outcomeOf({ type: "object", properties: { a: { const: { b: 1 } } } }, valueOf)).ok).toBe(false)
    })
  )

  it.effect("refuses data that is too long, too deep or no JSON, whatever the schema says", () =>
    Effect.gen(function* () {
      const deep: unknown = JSON.parse(`{"a":${"[".repeat(20)}${"]".repeat(20)}}`)
      expect((yield* issuesOf({ type: "object" }, deep))[0]!.message).toMatch(/16 levels/)
      expect((yield* issuesOf({ type: "object" }, { a: "x".repeat(65_536) }))[0]!.message).toMatch(/65536 bytes/)
      expect((yield* issuesOf({ type: "object" }, { a: NaN }))[0]!.message).toMatch(/finite/)
      expect((yield* issuesOf({ type: "object" }, { a: [-1e20] }))[0]).toMatchObject({ path: "/a/0" })
      expect((yield* outcomeOf({ type: "object" }, { a: "x".repeat(65_000), b: 1e21 })).ok).toBe(true)
    })
  )

  it.effect("answers with an issue when the stored schema is out of bounds", () =>
    Effect.gen(function* () {
      const issues = yield* issuesOf({ type: "object", $ref: "#" }, {})
      expect(issues[0]!.message).toMatch(/refers to itself/)
    })
  )
})

layer(SchemaValidator.layer, { excludeTestServices: true })("the validator under attack", (it) => {
  it.effect("stops a slow request after 250 ms of processor time, with an issue, and serves the ones behind it", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const attack = yield* Effect.forkChild(validator.validate([slow, fine], "mallory"))
      const behind = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => validator.validate([fine], "ada")),
          { concurrency: "unbounded" }
        )
      )
      expect(yield* Fiber.join(attack)).toEqual([
        { ok: false, issues: tooLong },
        { ok: false, issues: tooLong }
      ])
      for (const outcomes of yield* Fiber.join(behind)) expect(outcomes[0]!.ok).toBe(true)
    })
  )

  it.effect("lets another tenant in after at most one of many slow requests", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const attacks = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 5 }, () => validator.validate([slow], "trudy")),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.yieldNow
      const other = yield* Effect.forkChild(validator.validate([fine], "ada"))
      expect((yield* Fiber.join(other))[0]!.ok).toBe(true)
      expect(attacks.pollUnsafe(), "the attack had ended before").toBeUndefined()
      const [first, ...others] = yield* Fiber.join(attacks)
      expect(first).toEqual([{ ok: false, issues: tooLong }])
      for (const [outcome] of others) expect(JSON.stringify(outcome)).toMatch(/is not tried for another \d+ s/)
    })
  )

  it.effect("keeps a tenant's own slow schema from the built-in kinds of the same tenant", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const builtin = builtinKinds.find(({ name }) => name === "factual_memory")
      const fact = (data: object) => [{ schemaText: builtin!.schema, data }]
      const attack = yield* Effect.forkChild(validator.validate([slow], "peggy"))
      yield* Effect.yieldNow
      const good = { subject: "Ann", fact: "Ann keeps bees", hive: { count: 3 } }
      expect(yield* validator.validate(fact(good), "peggy")).toEqual([{ ok: true, data: good }])
      const [refused] = yield* validator.validate(fact({ subject: "" }), "peggy")
      expect(JSON.stringify(refused)).toMatch(/must have required property 'fact'/)
      expect(attack.pollUnsafe(), "the attack had ended before").toBeUndefined()
      yield* Fiber.join(attack)
    })
  )

  it.effect("keeps a default from multiplying the answer", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const items = { properties: { b: { default: "x".repeat(1_000) } } }
      const data = { a: Array.from({ length: 100 }, () => ({})) }
      const outcomes = yield* validator.validate([item({ type: "object", properties: { a: { items } } }, data)])
      expect(JSON.stringify(outcomes)).toMatch(/65536 bytes/)
    })
  )

  it.effect("outlives a caller who goes away in the middle", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const gone = yield* Effect.forkChild(validator.validate([slow]))
      yield* Effect.sleep("50 millis")
      yield* Fiber.interrupt(gone)
      expect((yield* validator.validate([fine]))[0]!.ok).toBe(true)
    })
  )

  it.effect("turns requests away when too many wait, and recovers", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const of = (tenant: string) => Effect.exit(validator.validate([fine], tenant))
      const [crowd, other] = yield* Effect.all(
        [
          Effect.all(
            Array.from({ length: waitingRequestsOfTenantMax + 10 }, () => of("crowd")),
            { concurrency: "unbounded" }
          ),
          of("other")
        ],
        { concurrency: "unbounded" }
      )
      expect(crowd.filter(Exit.isFailure).length).toBe(10)
      expect(Exit.isSuccess(other)).toBe(true)
      expect((yield* validator.validate([fine]))[0]!.ok).toBe(true)
    })
  )

  const items = Array.from({ length: 5_500 }, (_, i) => ({ n: i }))
  const numbers = Array.from({ length: 12_000 }, (_, i) => i)
  const choice = (levels: number): object =>
    levels === 0 ? { required: ["z"] } : { anyOf: [choice(levels - 1), choice(levels - 1)], items: choice(0) }
  const corpus: ReadonlyArray<readonly [what: string, attack: { schemaText: string; data: unknown }]> = [
    [
      "catastrophic backtracking",
      item({ type: "object", properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(30)}!` })
    ],
    [
      "backtracking over 60,000 characters",
      item({ type: "object", properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(60_000)}!` })
    ],
    ["unique objects", item({ type: "object", properties: { a: { uniqueItems: true } } }, { a: items })],
    ["unique numbers", item({ type: "object", properties: { a: { uniqueItems: true } } }, { a: numbers })],
    [
      "a tree of anyOf over many items",
      item({ type: "object", properties: { a: { items: choice(6) } } }, { a: items })
    ],
    [
      "allOf by the hundred over many items",
      item(
        {
          type: "object",
          properties: { a: { items: { allOf: Array.from({ length: 480 }, () => ({ minProperties: 2 })) } } }
        },
        { a: items }
      )
    ],
    [
      "an error for each of many values",
      item({ type: "object", properties: { a: { items: { type: "string", minLength: 2, not: {} } } } }, { a: numbers })
    ],
    [
      "an enum of 1,000 over many items",
      item(
        { type: "object", properties: { a: { items: { enum: Array.from({ length: 1_000 }, (_, i) => i - 1_000) } } } },
        { a: numbers }
      )
    ],
    [
      "32 patterns over long text",
      item(
        {
          type: "object",
          properties: { a: { allOf: Array.from({ length: 32 }, (_, i) => ({ pattern: `(a|b)*c{${i}}d` })) } }
        },
        { a: "ab".repeat(30_000) }
      )
    ],
    [
      "a hostile name",
      item(
        { type: "object", propertyNames: { pattern: "^(a+)+$" } },
        { ["a".repeat(60_000)]: 1, [`${"a".repeat(40)}!`]: 1 }
      )
    ],
    [
      "a long e-mail address",
      item({ type: "object", properties: { a: { format: "email" } } }, { a: `${"a.".repeat(30_000)}@` })
    ],
    [
      "doubling references",
      item(
        {
          type: "object",
          $ref: "#/$defs/d0",
          $defs: Object.fromEntries(
            Array.from({ length: 25 }, (_, i) => [
              `d${i}`,
              i === 24 ? {} : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] }
            ])
          )
        },
        {}
      )
    ]
  ]
  for (const [what, attack] of corpus) {
    it.effect(`keeps its deadline and the event loop free: ${what}`, () =>
      Effect.gen(function* () {
        const validator = yield* SchemaValidator
        const startedMillis = cpuMillisNow()
        const outcomes = yield* validator.validate([attack], what)
        const busyMillis = cpuMillisNow() - startedMillis
        expect(outcomes.length).toBe(1)
        expect(JSON.stringify(outcomes), "the attack never reached the worker").not.toMatch(
          /65536 bytes|objects and arrays/
        )
        // The work is done on another thread.
        expect(busyMillis).toBeLessThan(250)
        expect(yield* validator.validate([fine])).toEqual([{ ok: true, data: { a: 1 } }])
      })
    )
  }

  it.effect("serves known schemas while unknown ones use up their time", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      yield* validator.validate([fine], "ada")
      const attacks = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 3 }, (_, at) =>
            validator.validate([{ ...slow, schemaText: `${slow.schemaText}${" ".repeat(at)}` }], `mallory ${at}`)
          ),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.yieldNow
      for (let write = 0; write < 20; write += 1) {
        expect((yield* validator.validate([fine], "ada"))[0]!.ok).toBe(true)
      }
      expect(attacks.pollUnsafe(), "the attacks had ended before").toBeUndefined()
      yield* Fiber.join(attacks)
    })
  )

  it.effect("ends a request of many kinds in several turns", () =>
    Effect.gen(function* () {
      const validator = yield* SchemaValidator
      const properties = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${i}`, { type: "string" }]))
      const kinds = Array.from({ length: 100 }, (_, i) =>
        item({ type: "object", title: `kind ${i}`, properties }, { p1: "x" })
      )
      const outcomes = yield* validator.validate(kinds, "importer")
      expect(outcomes.map(({ ok }) => ok)).toEqual(kinds.map(() => true))
    })
  )
})

describe("closing the validator's layer", () => {
  plain.live("ends what is under way and leaves no thread behind", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(SchemaValidator.layer, scope)
      const pending = yield* Effect.forkChild(
        Effect.provide(
          SchemaValidator.use((v) => v.validate([slow])),
          context
        )
      )
      yield* Effect.sleep("50 millis")
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.await(pending)
      expect(Exit.isFailure(exit)).toBe(true)
      // Ports report their end a few turns after the threads did.
      const portsOpen = Effect.sync(
        () => process.getActiveResourcesInfo().filter((each) => each === "MessagePort").length
      )
      yield* Effect.sleep("10 millis").pipe(
        Effect.andThen(portsOpen),
        Effect.repeat({ until: (open) => open === 0, times: 100 })
      )
      expect(yield* portsOpen).toBe(0)
    })
  )
})

describe("a validation worker", () => {
  plain.live("is kept warm for known schemas from the start, and started for unknown ones when they come", () =>
    Effect.gen(function* () {
      const started: Array<unknown> = []
      const count = (worker: unknown) => void started.push(worker)
      process.on("worker", count)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.off("worker", count)))
      const context = yield* Layer.build(Layer.fresh(SchemaValidator.layer))
      const settled = Effect.fnUntraced(function* (wanted: number) {
        for (let round = 0; round < 500 && started.length < wanted; round += 1) yield* Effect.sleep("10 millis")
      })
      yield* settled(1)
      // A second one would be here by now.
      yield* Effect.sleep("50 millis")
      expect(started).toHaveLength(1)
      yield* Effect.provide(
        SchemaValidator.use((validator) => validator.validate([fine])),
        context
      )
      yield* settled(2)
      expect(started).toHaveLength(2)
    }).pipe(Effect.scoped)
  )

  plain.live("that outgrows its heap is lost for memory, and the process lives on", () =>
    Effect.gen(function* () {
      const thread = yield* openValidationThread({
        ...threadLimits,
        cpuMillisMax: 20_000,
        deadlineMillis: 60_000,
        heapMegabytesMax: 40
      })
      yield* thread.start
      const schema = {
        type: "object",
        properties: { a: { items: { allOf: Array.from({ length: 480 }, () => ({ minProperties: 1 })) } } }
      }
      const data = { a: Array.from({ length: 20_000 }, () => ({})) }
      const request = { schemaTexts: [JSON.stringify(schema)], items: [{ schema: 0, data }] }
      const loss = yield* Effect.flip(thread.validate(request))
      expect(loss.reason).toBe("memory")
      const small = { schemaTexts: [JSON.stringify({ type: "object" })], items: [{ schema: 0, data: { a: 1 } }] }
      expect((yield* thread.validate(small)).outcomes).toEqual([{ ok: true, data: { a: 1 } }])
    })
  )
})
