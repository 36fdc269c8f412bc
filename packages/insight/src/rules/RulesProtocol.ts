/**
 * Messages between the main thread and the worker of the rules, and the bounds of both. A task is
 * the request without the account; an answer is a whole extraction, never a part of one.
 */
import type { Extraction, ExtractionRequest } from "../extraction/Extractor.ts"

export type RulesTask = Omit<ExtractionRequest, "account" | "turnMillisMax">
export type RulesAnswer = Extraction

/** Lengths are UTF-16 units. A message or sentence beyond them is left out and reported as dropped. */
export const rulesLimits = {
  /** Processor time of a conversation. */
  cpuMillisMax: 6_000,
  /** From the start of its reading: beyond it the machine had no processor time for the thread. */
  deadlineMillis: 20_000,
  waitMillisMax: 30_000,
  queueMax: 32,
  /** Conversations of one account that wait while another of it is read. */
  queuePerAccountMax: 8,
  idleMillis: 600_000,
  heapMegabytesMax: 256,
  youngHeapMegabytesMax: 32,
  stackMegabytes: 4,
  messagesMax: 200,
  messageLengthMax: 32_000,
  /** Sentences of a request, without those about no person. */
  sentencesReadMax: 800,
  sentencesPerMessageMax: 300,
  sentenceLengthMax: 400,
  wordLengthMax: 64,
  clausesPerSentenceMax: 8,
  listItemsMax: 8,
  peopleMax: 64,
  candidatesMax: 200,
  droppedMax: 100,
  contextMessagesMax: 20,
  kindsMax: 256,
  kindFieldsMax: 64
} as const
