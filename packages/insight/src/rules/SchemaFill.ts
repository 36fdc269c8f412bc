/**
 * Registered kinds, filled from entities as far as names, types, enums and formats of their fields
 * allow. A kind says by its name and description what it is about; a field by its name which value it
 * takes. When a required field is not in the text there is no candidate.
 */
import type { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import type { Candidate, CandidateKind, DroppedCandidate } from "../extraction/Extractor.ts"
import { ruleConfidence } from "./lexicon/rules.ts"
import type { KnownEntity } from "./Entities.ts"
import { rulesLimits } from "./RulesProtocol.ts"

export interface FilledKinds {
  readonly candidates: ReadonlyArray<Candidate>
  readonly dropped: ReadonlyArray<DroppedCandidate>
}

export const filledKinds = (entities: ReadonlyArray<KnownEntity>, kinds: ReadonlyArray<CandidateKind>): FilledKinds => {
  const candidates: Array<Candidate> = []
  const dropped: Array<DroppedCandidate> = []
  for (const kind of kinds) {
    const types = entityTypes(kind)
    const shape = shapeOf(kind)
    if (types.length === 0 || shape === undefined) continue
    for (const entity of entities.filter(({ type }) => types.includes(type))) {
      const { data, missing } = filled(entity, shape, kind.uniqueOn ?? [])
      // A name alone is not worth a memory.
      if (missing.length === 0 && tells(data, shape)) candidates.push(candidateOf(kind, data, entity))
      else if (missing.length > 0 && missing.length < shape.required.length) {
        const message = `the text does not tell ${missing.join(", ")}`
        dropped.push({ kind: kind.name, data, reason: "unsupported", message, sources: [...entity.sources] })
      }
    }
  }
  return { candidates, dropped }
}

interface Shape {
  readonly fields: ReadonlyArray<readonly [string, FieldSchema]>
  readonly required: ReadonlyArray<string>
}

const shapeOf = (kind: CandidateKind): Shape | undefined => {
  const schema = parsed(kind.schema)
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return undefined
  const fields = Object.entries(schema["properties"])
    .slice(0, rulesLimits.kindFieldsMax)
    .flatMap(([name, field]): ReadonlyArray<readonly [string, FieldSchema]> =>
      isJsonObject(field) ? [[name, field]] : []
    )
  const required = Array.isArray(schema["required"])
    ? schema["required"].filter((name): name is string => typeof name === "string")
    : []
  return { fields, required }
}

/** The server checked the schema when it was registered; one that does not parse fills nothing. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const topics: ReadonlyArray<readonly [KnownEntity["type"], RegExp]> = [
  ["pet", /\bpets?\b|\banimals?\b|\bdogs?\b|\bcats?\b/],
  [
    "event",
    /\bmeetings?\b|\bappointments?\b|\bevents?\b|\bcalendar\b|\bplans?\b|\btrips?\b|\btravel\b|\bcalls?\b|\bschedule\b|\breminders?\b/
  ],
  [
    "speaker",
    /\b(?:user|my|customer|client|personal)?[ _-]?profiles?\b|\babout the user\b|\bwho the user is\b|\bidentity\b|\buser\b/
  ],
  [
    "person",
    /\bcontacts?\b|\bpersons?\b|\bpeople\b|\bfriends?\b|\bcolleagues?\b|\brelatives?\b|\bfamily\b|\brelationships?\b|\bclients?\b/
  ]
]

/** By the name; by the description if the name is unknown. */
const entityTypes = ({ description, name }: CandidateKind): ReadonlyArray<KnownEntity["type"]> => {
  const readable = (text: string) =>
    text
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .replace(/[._-]+/g, " ")
      .toLowerCase()
  for (const text of [readable(name), readable(description)]) {
    const type = topics.find(([, pattern]) => pattern.test(text))?.[0]
    if (type === "person") return ["person"]
    if (type !== undefined) return [type]
  }
  return []
}

/** Which value of an entity a field takes, by the field's name. */
const keysOf: ReadonlyArray<readonly [RegExp, ReadonlyArray<string>]> = [
  [/e-?mail/, ["email"]],
  [/phone|mobile|cell|tel/, ["phone"]],
  [/^(?:end|end date|until|to|ends at|end time)$/, ["end"]],
  [/birth|dob/, ["birthday", "date_of_birth"]],
  [/^age$|years old/, ["age"]],
  [/species|animal|pet type/, ["species"]],
  [/breed|race/, ["breed"]],
  [/attendee|participant|invitee|guests|people|with whom/, ["attendees"]],
  [/occupation|profession|job|role|work title/, ["occupation"]],
  [/employer|company|organi[sz]ation|workplace|firm/, ["employer", "company"]],
  [/city|town|home(?!page)|residence|lives/, ["city"]],
  [/location|place|venue|where|room|address/, ["location", "address", "city"]],
  [/relation/, ["relation"]],
  [/(?:^|\b)(?:time|start time|hour)$/, ["time"]],
  [/date|day|when|^start/, ["date"]],
  [/title|subject|topic|event|summary|description/, ["title"]],
  [/name|person|contact/, ["name", "title", "item"]],
  [/^(?:type|kind)$/, ["species", "relation"]],
  [/pronoun/, ["pronouns"]],
  [/hobb|interest/, ["hobby", "hobbies", "interests"]],
  [/nationality/, ["nationality"]],
  [/pet/, ["name"]]
]

/** Fields of a key that say whose the record is. */
const owners = /^(?:user|owner|speaker|subject|who|customer|client|member)(?: id| name)?$/

const filled = (
  entity: KnownEntity,
  { fields, required }: Shape,
  uniqueOn: ReadonlyArray<string>
): { readonly data: JsonObject; readonly missing: ReadonlyArray<string> } => {
  const data: Record<string, Schema.Json> = {}
  for (const [name, schema] of fields) {
    const text = name
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .replace(/[._-]+/g, " ")
      .toLowerCase()
    const keys = keysOf.find(([pattern]) => pattern.test(text))?.[1] ?? [name.toLowerCase()]
    // A schema may declare a property such as "constructor", which every object inherits.
    const key = keys.find((candidate) => Object.hasOwn(entity.fields, candidate))
    // A speaker who gave no name is `user`, as in built-in kinds: a key that names whose the record is does not reject it.
    const isWho = entity.type === "speaker" && uniqueOn.includes(name) && (keys.includes("name") || owners.test(text))
    const told = key === undefined && isWho ? (entity.fields["name"] ?? "user") : entity.fields[key ?? ""]
    const value = told === undefined ? undefined : fieldValue(told, schema)
    if (value !== undefined) data[name] = value
  }
  return { data, missing: required.filter((name) => !Object.hasOwn(data, name)) }
}

const tells = (data: JsonObject, { fields, required }: Shape): boolean => {
  const count = Object.keys(data).length
  return count >= Math.min(2, fields.length) || (required.length > 0 && count >= required.length && count > 0)
}

const candidateOf = (kind: CandidateKind, data: JsonObject, entity: KnownEntity): Candidate => {
  const { date, name } = entity.fields
  const isPerson = entity.type === "person" || entity.type === "pet" || entity.type === "speaker"
  return {
    kind: kind.name,
    data,
    confidence: ruleConfidence("filledKind"),
    ...(entity.type === "event" && typeof date === "string" ? { when: date } : {}),
    mentions: isPerson && typeof name === "string" ? [{ name, type: entity.type === "pet" ? "animal" : "person" }] : [],
    tags: [],
    sources: [...entity.sources]
  }
}

/** The JSON Schema of one field, as far as it is looked at. */
export type FieldSchema = Readonly<Record<string, unknown>>

export const fieldValue = (told: string | ReadonlyArray<string>, schema: FieldSchema): Schema.Json | undefined => {
  const types = typesOf(schema)
  if (Array.isArray(schema["enum"])) return enumMember(typeof told === "string" ? told : told.join(" "), schema["enum"])
  if (types.includes("array")) return listValue(told, schema)
  const text = (typeof told === "string" ? told : told.join(", ")).replace(/[\s,;:!?.]+$/, "").trim()
  if (text === "") return undefined
  if (types.includes("number") || types.includes("integer")) return numberValue(text, types.includes("integer"))
  if (types.length > 0 && !types.includes("string")) return undefined
  return stringValue(text, schema)
}

/** `type` as a list; the alternatives of `anyOf` count as well. */
const typesOf = (schema: FieldSchema): ReadonlyArray<string> => {
  const own = schema["type"]
  const alternatives = [schema["anyOf"], schema["oneOf"]].find((list) => Array.isArray(list))
  const nested = Array.isArray(alternatives) ? alternatives.filter(isJsonObject).flatMap(typesOf) : []
  const direct = Array.isArray(own)
    ? own.filter((type): type is string => typeof type === "string")
    : typeof own === "string"
      ? [own]
      : []
  return [...direct, ...nested]
}

/** The member that stands in the text as a whole word. */
const enumMember = (text: string, members: ReadonlyArray<unknown>): string | undefined => {
  const words = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ")} `
  return members
    .filter((member): member is string => typeof member === "string")
    .toSorted((one, other) => other.length - one.length)
    .find((member) =>
      words.includes(
        ` ${member
          .toLowerCase()
          .replace(/[^\p{L}\p{N}]+/gu, " ")
          .trim()} `
      )
    )
}

const listValue = (told: string | ReadonlyArray<string>, schema: FieldSchema): Schema.Json | undefined => {
  const items = typeof told === "string" ? told.split(/,? and |, /) : told
  const itemSchema = isJsonObject(schema["items"]) ? schema["items"] : {}
  const values = items.flatMap((item) => {
    const value = fieldValue(item, itemSchema)
    return value === undefined ? [] : [value]
  })
  return values.length === 0 ? undefined : values
}

const numberValue = (text: string, isInteger: boolean): number | undefined => {
  const digits = /^\D{0,3}?(-?\d+(?:\.\d+)?)(?: ?(?:years?(?: old)?|kg|cm|mg|k)?)?$/.exec(text.replaceAll(",", ""))?.[1]
  const value = digits === undefined ? Number.NaN : Number(digits)
  return Number.isFinite(value) && (!isInteger || Number.isInteger(value)) ? value : undefined
}

const stringValue = (text: string, schema: FieldSchema): string | undefined => {
  const { format, maxLength, minLength } = schema
  if (typeof maxLength === "number" && text.length > maxLength) return undefined
  if (typeof minLength === "number" && text.length < minLength) return undefined
  if (format === "email") return /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/.test(text) ? text : undefined
  if (format === "date") return /^\d{4}-\d\d-\d\d/.exec(text)?.[0]
  if (format === "date-time") return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? text : undefined
  if (format === "uri" || format === "url") return /^https?:\/\/\S+$/.test(text) ? text : undefined
  return format === "time" && !/^\d\d:\d\d/.test(text) ? undefined : text
}
