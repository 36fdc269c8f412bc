/**
 * The labelled conversations and questions of `test/vectors` as the benches and their tests read them.
 * A label says what a careful human wants remembered, in terms that any wording of it must contain.
 */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { CandidateKind } from "@muniment/insight/extraction/Extractor"
import { factKinds } from "@muniment/schemas/BuiltinKinds"

export type Split = "dev" | "held-out"

/** Every group must be met, by any of its phrases; `=` before a phrase asks for these exact words. */
export type Terms = ReadonlyArray<ReadonlyArray<string>>

interface Wording {
  readonly terms: Terms
  /** Phrases that must not occur, because they reverse the meaning. */
  readonly without?: ReadonlyArray<string>
}

/** Any of these; `user` stands for the speaker and for every name the conversation gives them. */
interface Subject {
  readonly subject: ReadonlyArray<string>
}

export interface FactData extends Wording, Subject {}

export interface PreferenceData extends Wording, Subject {
  readonly preferenceType: ReadonlyArray<string>
}

/** Days are ISO 8601 or a beginning of it (`2026-05`: any day of May); `none`: the text gives no day. */
export interface EventData extends Wording, Subject {
  readonly eventDate: ReadonlyArray<string>
  readonly endDate?: ReadonlyArray<string>
}

/** A value; any of several values; all members of an array, in any order; or wording. */
export type FieldLabel = string | number | boolean | ReadonlyArray<string | number> | Wording | FieldSet
interface FieldSet {
  readonly set: ReadonlyArray<string>
}

/** Record of a registered kind: `fields` must be there, `optional` may be, any other field is invented. */
export interface RecordData {
  readonly fields: Readonly<Record<string, FieldLabel>>
  readonly optional?: Readonly<Record<string, FieldLabel>>
}

export interface LabelForm {
  readonly kind: string
  readonly data: FactData | PreferenceData | EventData | RecordData
}

/** `or`: other forms of the same memory, as good as the first. */
export interface Label extends LabelForm {
  readonly or?: ReadonlyArray<LabelForm>
}

export interface Forbidden {
  readonly kind?: string
  readonly description: string
  readonly match: Wording & {
    readonly subject?: ReadonlyArray<string>
    readonly preferenceType?: ReadonlyArray<string>
  }
}

export interface LabelledMessage {
  readonly id?: string
  readonly role: "user" | "assistant" | "system"
  readonly content: string
}

export interface LabelledConversation {
  readonly id: string
  readonly split: Split
  readonly topic: string
  readonly conversationDate: string
  /** Names by which the user is known in this conversation. */
  readonly names?: ReadonlyArray<string>
  /** What a request names in `schemas`; absent: the built-in kinds. */
  readonly kinds?: ReadonlyArray<string>
  readonly messages: ReadonlyArray<LabelledMessage>
  readonly expected: ReadonlyArray<Label>
  /** Fair to remember, and fair to leave: counts neither way. */
  readonly accepted: ReadonlyArray<Label>
  readonly forbidden: ReadonlyArray<Forbidden>
  readonly note?: string
}

const vectors = resolve(import.meta.dirname, "../../test/vectors")

export const readConversations = (split: Split): ReadonlyArray<LabelledConversation> =>
  readVectors<ReadonlyArray<LabelledConversation>>(`conversations/${split}.json`)

/** A longer conversation that questions are asked about once it is remembered. */
export interface QuestionedConversation {
  readonly id: string
  readonly conversationDate: string
  readonly names: ReadonlyArray<string>
  readonly messages: ReadonlyArray<LabelledMessage>
}

export interface LabelledQuestion {
  readonly conversationId: string
  readonly question: string
  /** False if the conversation does not answer it; an answer must say so. */
  readonly answerable: boolean
  /** What a right answer says; empty if the question has no answer. Days in any of the usual forms. */
  readonly expected: Terms
  /** What a right answer does not say, such as a value corrected since. */
  readonly without?: ReadonlyArray<string>
  readonly note?: string
}

export const readQuestionedConversations = (): ReadonlyArray<QuestionedConversation> =>
  readVectors<ReadonlyArray<QuestionedConversation>>("questions/conversations.json")

export const readQuestions = (): ReadonlyArray<LabelledQuestion> =>
  readVectors<ReadonlyArray<LabelledQuestion>>("questions/questions.json")

interface RegisteredKind {
  readonly name: string
  readonly description: string
  readonly uniqueOn?: ReadonlyArray<string>
  readonly schema: object
}

/** Built-in and registered kinds by name. */
export const readKinds = (): ReadonlyMap<string, CandidateKind> => {
  const registered = readVectors<ReadonlyArray<RegisteredKind>>("conversations/schemas.json")
  const kinds = [...factKinds, ...registered.map((kind) => ({ ...kind, schema: JSON.stringify(kind.schema) }))]
  return new Map(kinds.map((kind) => [kind.name, kind]))
}

/** The kinds that candidates of a conversation may have. */
export const kindsOf = (
  conversation: LabelledConversation,
  kinds: ReadonlyMap<string, CandidateKind>
): ReadonlyArray<CandidateKind> =>
  (conversation.kinds ?? factKinds.map(({ name }) => name)).map((name) => {
    const kind = kinds.get(name)
    if (kind === undefined) throw new Error(`${conversation.id} names an unknown kind: ${name}`)
    return kind
  })

const readVectors = <A>(file: string): A => JSON.parse(readFileSync(join(vectors, file), "utf8")) as A
