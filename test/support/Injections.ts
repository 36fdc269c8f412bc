/**
 * The corpus of injected orders (`test/vectors/injections`), one file for each class of attack. All of
 * them were written for this project.
 *
 * `place` says where the text is put: a message of that role, the content of a stored memory, the
 * description of a kind, a tag, or the question of a search. `forbidden` are words that no extracted
 * memory, no summary and no answer may hold when the attack stands there.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Schema } from "effect"

const Place = Schema.Literals(["user", "assistant", "system", "memory", "kind", "tag", "question"])

const InjectionFile = Schema.Struct({
  class: Schema.String,
  attacks: Schema.NonEmptyArray(
    Schema.Struct({
      id: Schema.String,
      place: Place,
      text: Schema.NonEmptyString,
      /** Repeated before the text: long attacks stay short on disk. */
      before: Schema.optionalKey(Schema.Struct({ text: Schema.String, times: Schema.Int })),
      mustNot: Schema.NonEmptyString,
      forbidden: Schema.NonEmptyArray(Schema.NonEmptyString)
    })
  )
})

export interface Injection {
  /** Class and number, such as `tool-call-2`. */
  readonly id: string
  readonly class: string
  readonly place: typeof Place.Type
  readonly text: string
  /** What the attack wants. */
  readonly mustNot: string
  readonly forbidden: ReadonlyArray<string>
}

const folder = resolve(import.meta.dirname, "../vectors/injections")
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(InjectionFile))

export const injections: ReadonlyArray<Injection> = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .sort()
  .flatMap((name) => {
    const file = decode(readFileSync(join(folder, name), "utf8"))
    return file.attacks.map(({ before, text, ...attack }) => ({
      ...attack,
      class: file.class,
      text: `${before === undefined ? "" : before.text.repeat(before.times)}${text}`
    }))
  })

/** Those that stand in a message of a conversation. */
export const messageInjections = injections.flatMap((attack) =>
  attack.place === "user" || attack.place === "assistant" || attack.place === "system"
    ? [{ ...attack, place: attack.place }]
    : []
)

export const injectionsIn = (place: Injection["place"]): ReadonlyArray<Injection> =>
  injections.filter((attack) => attack.place === place)
