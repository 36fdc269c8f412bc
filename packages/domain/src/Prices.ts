/**
 * Price of each operation (contract: Credits). A batch costs twice the single operation, regardless of its size.
 */
import { credits, type MicroCredits } from "./Money.ts"

export const Prices = {
  createMemories: credits(5),
  searchMemories: credits(2),
  context: credits(2),
  subjects: credits(1),
  profile: credits(1),
  getMemory: credits(1),
  history: credits(1),
  restore: credits(5),
  feedback: credits(1),
  listMemories: credits(1),
  facets: credits(1),
  lookup: credits(1),
  extract: credits(2),
  updateMemory: credits(2),
  deleteMemory: credits(1),
  batchSearch: credits(4),
  batchDelete: credits(2),
  batchUpdate: credits(4),
  batchCreate: credits(10),
  attest: credits(3)
} as const satisfies Record<string, MicroCredits>
