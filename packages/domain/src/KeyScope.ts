/** Scope of a key: what it may do within its account (contract: Identity). A key without a scope may do all. */
import { Schema } from "effect"
import { AgentId, SubjectId } from "./Ids.ts"
import { Limits } from "./Limits.ts"

const listOf = <S extends Schema.Top>(id: S) =>
  Schema.optionalKey(Schema.NonEmptyArray(id).check(Schema.isMaxLength(Limits.keyBindingsMax)))

export const keyScopeFields = {
  /** Reads only. */
  readOnly: Schema.optionalKey(Schema.Boolean),
  /** Sees and changes memories of these agents only. */
  agents: listOf(AgentId),
  /** The same of these subjects; memories without a subject are outside. */
  subjects: listOf(SubjectId)
}

export const KeyScope = Schema.Struct(keyScopeFields)
export type KeyScope = typeof KeyScope.Type
