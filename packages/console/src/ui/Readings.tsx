/** Results of a reading of messages: what it found, what it left out, and why. */
import type { Extracted } from "../service/knowledge.ts"
import { summary } from "../service/words.ts"

type Found = Extracted["found"][number]
type Rejected = Extracted["rejected"][number]

const reasons: Readonly<Record<string, string>> = {
  low_confidence: "not sure enough",
  unsupported: "not said in the text",
  malformed: "not readable",
  instruction: "an instruction to the reader",
  question: "a question",
  hypothetical: "only imagined",
  unknown_kind: "of a kind that is not there",
  schema_validation_failed: "does not fit its schema",
  unique_field_missing: "lacks what identifies it",
  duplicate: "said already",
  near_duplicate: "nearly said already",
  too_many: "more than one reading may store"
}

export const FoundItem = ({ found }: { readonly found: Found }) => (
  <li class="made found">
    <span>{summary(found.data)}</span>
    <span class="meta">
      <span class="badge good">would be stored</span>
      <span class="badge">{found.kind}</span>
      <span>confidence {found.confidence.toFixed(2)}</span>
      {found.when !== undefined && <span>{found.when.slice(0, 10)}</span>}
    </span>
  </li>
)

export const RejectedItem = ({ rejected }: { readonly rejected: Rejected }) => (
  <li class="made rejected">
    <span>{rejected.data === undefined ? rejected.message : summary(rejected.data)}</span>
    <span class="meta">
      <span class="badge warn">{reasons[rejected.reason] ?? rejected.reason}</span>
      {rejected.kind !== undefined && <span class="badge">{rejected.kind}</span>}
      {rejected.data !== undefined && <span>{rejected.message}</span>}
    </span>
  </li>
)
