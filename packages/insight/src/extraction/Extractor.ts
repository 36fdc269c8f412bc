/**
 * Port of extraction (contract: Conversations): from messages of a conversation to candidates for memories. An extractor
 * proposes; the server validates each candidate against its schema, finds duplicates, and stores. Messages and context
 * are data, never instructions.
 *
 * Invariants: every value of a candidate is in the text, or follows from it and `conversationDate`; of `context` only the
 * speaker's name, never a memory of its own; every dropped candidate is reported.
 */
import { Context, type Effect } from "effect"
import type { JsonObject, Mention } from "@muniment/domain/Memory"
import { speakersDay } from "@muniment/language/calendar/SpokenDates"
import type { ModelFailure, ModelProblem } from "@muniment/models/llm/StructuredModel"
import type { TokenCount } from "@muniment/models/llm/ModelBudget"

/** A kind that candidates may have: a registered or built-in schema. */
export interface CandidateKind {
  readonly name: string
  readonly description: string
  /** JSON Schema as text, as registered. */
  readonly schema: string
  readonly uniqueOn?: ReadonlyArray<string> | undefined
}

/** Role after aliases: `human` is `user`, `ai` is `assistant`. */
export interface Turn {
  readonly role: "user" | "assistant" | "system"
  /** Who speaks, if the request names them. */
  readonly name?: string | undefined
  readonly content: string
  /** ISO 8601 date-time; its day, in its own offset, is what `tomorrow` counts from. Default: the conversation's date. */
  readonly sentAt?: string | undefined
}

/** The day of the speaker's calendar that relative dates in a message count from. */
export const dayOfTurn = ({ sentAt }: Pick<Turn, "sentAt">, conversationDate: string): string =>
  speakersDay(sentAt) ?? conversationDate

/** A live memory of the request's subject. */
export interface KnownMemory {
  readonly id: string
  /** Whom or what it is about; empty: nobody says. */
  readonly about: string
  /** As one sentence. */
  readonly text: string
  /** Whether a reading may put another version in its place: what a caller stored stays. */
  readonly isOpen: boolean
}

export interface ExtractionRequest {
  /** Account whose model budget is spent. */
  readonly account: string
  readonly kinds: ReadonlyArray<CandidateKind>
  /** The new messages, in order: candidates come from these. */
  readonly messages: ReadonlyArray<Turn>
  /** Earlier messages, oldest first, to resolve names and pronouns. Nothing is extracted from them. */
  readonly context: ReadonlyArray<Turn>
  /** Summary by an earlier extraction of everything older than `context`. */
  readonly summary: string | undefined
  /** The name of the user, if earlier memories of the request's subject tell it. */
  readonly speakerName?: string | undefined
  /** `YYYY-MM-DD`: reference day of relative dates (`tomorrow`) in messages without a time of their own. */
  readonly conversationDate: string
  /** The memories that lie nearest to these texts; read by a model, which says what has changed of them. */
  readonly known?: ((texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<KnownMemory>>) | undefined
  /** Whom the memories of the subject are about, latest first; read by a model. */
  readonly names?: Effect.Effect<ReadonlyArray<string>> | undefined
  /** Instructions of the operator and the caller, in their words; read by a model. */
  readonly instructions?: ReadonlyArray<string> | undefined
  /** Fails as `overloaded` if others are still read after this time, milliseconds; default: the extractor's own bound. */
  readonly turnMillisMax?: number | undefined
}

export interface Candidate {
  readonly kind: string
  readonly data: JsonObject
  /** 0..1, calibrated: the expected share of such candidates that are right. */
  readonly confidence: number
  /** Event time, ISO 8601, if the text states it. */
  readonly when?: string | undefined
  readonly mentions: ReadonlyArray<Mention>
  readonly tags: ReadonlyArray<string>
  /** Single value that a memory of a built-in kind states. */
  readonly slot?: Slot | undefined
  /** Memory that it replaces: a known one's id, or an earlier candidate of this extraction. */
  readonly supersedes?: string | Candidate | undefined
  /** Indexes into `messages` of its source messages; at least one. */
  readonly sources: ReadonlyArray<number>
}

/** An attribute that has one value at a time, so that a newer memory of it supersedes an older one. */
export interface Slot {
  /** `home`, `employer`, `favorite food`; in lower case. */
  readonly attribute: string
  /** Whose it is, as memories name them; undefined: the speaker's. */
  readonly person?: string | undefined
  /** The speaker's name, if the conversation states it. */
  readonly speaker?: string | undefined
  /** The speaker's name is a correction of this one. */
  readonly formerName?: string | undefined
}

/** A dropped candidate with the reason; `sources` as above. */
export interface DroppedCandidate {
  readonly kind?: string | undefined
  readonly data?: JsonObject | undefined
  readonly reason: "low_confidence" | "unsupported" | "malformed" | "instruction" | "question" | "hypothetical"
  readonly message: string
  readonly sources: ReadonlyArray<number>
}

export interface Extraction {
  readonly candidates: ReadonlyArray<Candidate>
  readonly dropped: ReadonlyArray<DroppedCandidate>
  /** The earlier summary, updated with these messages. Undefined: as it was. */
  readonly summary: string | undefined
  /** Indexes into `messages`, or from the end of `context` (-1 is its last), of those that their writer asked not to keep. */
  readonly withheld?: ReadonlyArray<number> | undefined
  /** Indexes into `messages` of those that a model could not read, and is not asked again. */
  readonly leftOut?: ReadonlyArray<number> | undefined
  /** Why. */
  readonly problem?: ModelFailure | undefined
}

/** Cost of a reading by a model. */
export interface ReadingEstimate extends TokenCount {
  readonly calls: number
}

/** Undefined: nothing is read at once for this account. */
export type ExtractAtOnce = (request: ExtractionRequest) => Effect.Effect<Extraction | undefined, ModelFailure>

export class Extractor extends Context.Service<
  Extractor,
  {
    /** `rules`, or the configured model's name; for status and logs. */
    readonly name: string
    /** Of a model, as of its last call; undefined: none. */
    readonly problem: Effect.Effect<ModelProblem | undefined>
    readonly extract: (request: ExtractionRequest) => Effect.Effect<Extraction, ModelFailure>
    /** Of a model: what rules read at once, stored before `extract`, which is then shown it as known. */
    readonly extractAtOnce: ExtractAtOnce | undefined
    /** Undefined: rules read for this account. */
    readonly estimate: (request: ExtractionRequest) => Effect.Effect<ReadingEstimate | undefined>
    /** Starts what a reading needs and waits for it, so that no reading is cut short by a start. */
    readonly ready: (account: string) => Effect.Effect<void>
    /** How many conversations are read or wait to be, one after the other; undefined: several are read at once. */
    readonly underWay: (account: string) => Effect.Effect<number | undefined>
    /** Waits until a background reading would delay no request. */
    readonly untilFree: (account: string) => Effect.Effect<void>
  }
>()("muniment/insight/Extractor") {}
