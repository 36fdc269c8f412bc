/** Failures of the commit log. */
import { Data } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"

/** The log knows another epoch or another last change of the namespace; nothing was written. */
export class LogFenced extends Data.TaggedError("LogFenced")<{ readonly tag: NamespaceTag; readonly epoch: number }> {}

/** There is no room for another segment; nothing was written. */
export class LogFull extends Data.TaggedError("LogFull")<{ readonly cause: unknown }> {}

/** A write or a sync failed, or the log is closed: the outcome of what was not synced is unknown, and the log has ended. */
export class LogFault extends Data.TaggedError("LogFault")<{ readonly cause: unknown }> {
  override get message(): string {
    return `the commit log cannot be used: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** Records that were synced are missing, damaged or erased. `reason` names ordinals and namespace. */
export class LogDamaged extends Data.TaggedError("LogDamaged")<{ readonly reason: string }> {
  /** What is left of it on the way between threads. */
  override get message(): string {
    return this.reason
  }
}

export type LogError = LogFenced | LogFull | LogFault | LogDamaged
