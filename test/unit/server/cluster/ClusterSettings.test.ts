/** Addresses of the database that nodes can use, and those that they refuse before they start. */
import { expect } from "vitest"
import { Effect, Option, Redacted } from "effect"
import { clusterSettings } from "@muniment/server/cluster/ClusterSettings"
import { it } from "../../../support/it.ts"

const settings = (databaseUrl: string) =>
  clusterSettings({
    cluster: {
      bases: Option.some("/var/lib/bases"),
      databaseUrl: Option.some(Redacted.make(databaseUrl)),
      host: "10.0.0.4",
      port: 7_070,
      secret: Option.some(Redacted.make("0123456789abcdef0123456789abcdef"))
    }
  })

it.effect.each(["postgres://muniment@db/muniment", "postgresql://muniment:secret@db:5433/muniment?sslmode=require"])(
  "takes %s",
  function* (url) {
    expect(Redacted.value((yield* settings(url))!.databaseUrl)).toBe(url)
  }
)

it.effect.each(["mysql://db/muniment", "postgres://muniment@", "postgres://muniment@db1:5432,db2:5432/muniment"])(
  "refuses %s, and does not repeat it",
  function* (url) {
    const { message } = yield* Effect.flip(settings(url))
    expect(message).toContain("MUNIMENT_DATABASE_URL")
    expect(message).not.toContain(url)
  }
)
