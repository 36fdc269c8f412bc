/** One source of a model failed; `reason` is one line for the operator. Apart from `ModelFetch`, which a start does not load. */
import { Data } from "effect"

export class SourceFailed extends Data.TaggedError("SourceFailed")<{ readonly reason: string }> {}
