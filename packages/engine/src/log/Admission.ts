/**
 * Admission of appends: for each attached namespace the epoch and the last change that the log has, so that an owner
 * that was replaced is refused before anything is written.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { CopyState, NewCommit } from "./CommitLog.ts"
import { LogFenced } from "./LogError.ts"

export class Admission {
  readonly #states = new Map<NamespaceTag, CopyState>()

  attach(tag: NamespaceTag, state: CopyState): void {
    if (!this.#states.has(tag)) this.#states.set(tag, state)
  }

  release(tag: NamespaceTag): void {
    this.#states.delete(tag)
  }

  /** The reason to refuse the commit; undefined: there is none. */
  fault({ epoch, fromSeq, tag }: NewCommit): LogFenced | undefined {
    const known = this.#states.get(tag)
    return known?.epoch === epoch && known.seq === fromSeq
      ? undefined
      : new LogFenced({ tag, epoch: known?.epoch ?? 0 })
  }

  /** The commit is in the log. */
  advance({ changes, epoch, fromSeq, isClaim, tag }: NewCommit): void {
    this.#states.set(tag, { epoch: isClaim ? epoch + 1 : epoch, seq: fromSeq + changes })
  }
}
