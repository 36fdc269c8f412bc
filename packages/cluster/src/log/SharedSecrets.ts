/**
 * Secrets that all nodes of a cluster have: the operator's token and the keys of attestations. They lie in the database
 * of the log, sealed with AES-256-GCM (NIST SP 800-38D) under a key that is derived from the cluster's secret; the name
 * of a secret is authenticated with it, so that one cannot stand in the place of another.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { Data, Effect, Redacted } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { LogFault } from "@muniment/engine/log/LogError"
import { asked } from "./LogDatabase.ts"

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const sumBytes = 16
const keyBytes = 32

/** A secret in the database was sealed with another secret, or is damaged. */
class SecretUnreadable extends Data.TaggedError("SecretUnreadable")<{ readonly name: string }> {
  override get message(): string {
    return `MUNIMENT_CLUSTER_SECRET is not the one of this cluster: "${this.name}" in its database cannot be opened`
  }
}

export class SharedSecrets {
  readonly #sql: SqlClient
  readonly #key: Uint8Array

  constructor(sql: SqlClient, secret: Redacted.Redacted) {
    this.#sql = sql
    this.#key = new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", "muniment shared secrets", keyBytes))
  }

  readonly get = (name: string): Effect.Effect<string | undefined, LogFault | SecretUnreadable> => {
    const sql = this.#sql
    const rows = asked(sql<{ sealed: Uint8Array }>`SELECT sealed FROM muniment_log.secret WHERE name = ${name}`)
    return Effect.flatMap(rows, ([row]) =>
      row === undefined
        ? Effect.undefined
        : Effect.try({ try: () => this.#opened(name, row.sealed), catch: () => new SecretUnreadable({ name }) })
    )
  }

  readonly set = (name: string, text: string): Effect.Effect<void, LogFault> => {
    const sql = this.#sql
    return Effect.asVoid(
      asked(sql`INSERT INTO muniment_log.secret (name, sealed) VALUES (${name}, ${this.#sealed(name, text)})
        ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`)
    )
  }

  /** The one that is there, else `make`: nodes that start together get the same. */
  readonly ensure = (name: string, make: () => string): Effect.Effect<string, LogFault | SecretUnreadable> =>
    Effect.gen({ self: this }, function* () {
      const found = yield* this.get(name)
      if (found !== undefined) return found
      const sql = this.#sql
      yield* asked(sql`INSERT INTO muniment_log.secret (name, sealed) VALUES (${name}, ${this.#sealed(name, make())})
        ON CONFLICT DO NOTHING`)
      return (yield* this.get(name)) ?? (yield* new SecretUnreadable({ name }))
    })

  #sealed(name: string, text: string): Uint8Array {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(algorithm, this.#key, nonce).setAAD(Buffer.from(name))
    return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
  }

  #opened(name: string, sealed: Uint8Array): string {
    const bytes = Buffer.from(sealed)
    const end = bytes.byteLength - sumBytes
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes), { authTagLength: sumBytes })
      .setAAD(Buffer.from(name))
      .setAuthTag(bytes.subarray(end))
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, end)), decipher.final()]).toString("utf8")
  }
}
