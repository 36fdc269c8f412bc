/** The kinds that a conversation is read for: those that it names, else all that the account has and the built-in ones. */
import { Effect } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { CreateMemories } from "@muniment/domain/Memory"
import type { KnownKinds } from "../memories/KnownKinds.ts"

export const candidateKinds = Effect.fnUntraced(function* (
  account: string,
  { schemas: names }: Pick<CreateMemories, "schemas">,
  kinds: KnownKinds["Service"]
) {
  if (names === undefined) return new Map((yield* kinds.extractable(account)).map((schema) => [schema.name, schema]))
  const found = yield* kinds.lookup(account, names)
  const details = names.flatMap((name, at) =>
    found.has(name) ? [] : [{ path: `/schemas/${at}`, message: `"${name}" is neither registered nor built in` }]
  )
  if (details.length > 0) {
    return yield* new InvalidRequest({ code: "unknown_schema", error: "`schemas` names an unknown schema", details })
  }
  return found
})
