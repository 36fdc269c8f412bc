/**
 * Confidence of each rule: the share of its candidates that a careful reader would keep.
 * Estimates by hand; on conversations the rules were not written for, every band was at or above its
 * mean (from 0.6: 0.88, 0.7: 0.80, 0.8: 0.90, 0.9: 0.95 of 125; bench/extraction prints it). One table.
 */
export const ruleConfidence = {
  name: 0.95,
  nameFragment: 0.75,
  correction: 0.8,
  age: 0.92,
  birth: 0.9,
  origin: 0.9,
  home: 0.93,
  work: 0.9,
  role: 0.82,
  study: 0.88,
  language: 0.9,
  status: 0.88,
  contact: 0.95,
  attribute: 0.82,
  relation: 0.88,
  family: 0.85,
  health: 0.88,
  diet: 0.88,
  possession: 0.75,
  habit: 0.72,
  skill: 0.78,
  undertaking: 0.75,
  change: 0.85,
  past: 0.8,
  plain: 0.7,
  like: 0.85,
  favorite: 0.92,
  dislike: 0.85,
  preference: 0.9,
  datedEvent: 0.85,
  pastEvent: 0.65,
  eventFragment: 0.65,
  cancellation: 0.85,
  shortAnswer: 0.7,
  asked: 0.8,
  instruction: 0.9,
  filledKind: 0.8
} as const

export type RuleName = keyof typeof ruleConfidence
