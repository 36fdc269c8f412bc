/**
 * Names of the tools that write one kind each (contract: MCP): `write_` and the kind's name in snake case.
 * Deterministic: built-in kinds first, then by age. The first kind has the plain name, later ones with the
 * same name carry a hash of their kind's name: registering a schema never renames an existing tool.
 */
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import type { MemorySchema } from "@muniment/domain/MemorySchema"

/** What clients and model providers take. */
export const toolNameLengthMax = 64

const prefix = "write_"
const hashLength = 8

/** Schemas by the name of their tool, in the order of the names' making. */
export const writeToolNames = (kinds: ReadonlyArray<MemorySchema>): ReadonlyMap<string, MemorySchema> => {
  const named = new Map<string, MemorySchema>()
  for (const kind of kinds.toSorted(byAge)) {
    const plain = toolName(kind.name)
    let name = plain
    // A kind can be named after another's hash; then it hashes again.
    for (let round = 0; named.has(name); round++) {
      const hash = sha256Hex(`${kind.name}${"#".repeat(round)}`).slice(0, hashLength)
      name = `${plain.slice(0, toolNameLengthMax - hashLength - 1)}_${hash}`
    }
    named.set(name, kind)
  }
  return named
}

/** `BillPayment` -> `write_bill_payment`; what is neither letter nor digit becomes `_`. */
export const toolName = (kind: string): string => {
  const snake = kind
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]/g, "_")
    .toLowerCase()
  return `${prefix}${snake}`.slice(0, toolNameLengthMax)
}

const byAge = (left: MemorySchema, right: MemorySchema): number =>
  (left.createdAt ?? 0) - (right.createdAt ?? 0) || (left.name < right.name ? -1 : 1)
