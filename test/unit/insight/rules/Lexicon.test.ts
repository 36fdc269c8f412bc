/** The rules as data: every row has the form that it shows, and not the one beside it; no pattern is long. */
import { describe, expect, it } from "@effect/vitest"
import { dateHints } from "@muniment/language/calendar/EventDates"
import { clausesOf } from "@muniment/insight/rules/Clauses"
import { factForms } from "@muniment/insight/rules/lexicon/facts"
import { tasteForms } from "@muniment/insight/rules/lexicon/preferences"
import {
  admissions,
  asides,
  attacks,
  imperatives,
  keepings,
  mentions,
  mockeries,
  notings,
  ownSmallTalk,
  requested,
  requests,
  rewrites,
  rolePlays,
  smallTalkForms,
  stories
} from "@muniment/insight/rules/lexicon/sentences"
import {
  adverbForms,
  noNames,
  verbForms,
  elidedVerbs,
  noRelatives,
  offers,
  statementStarts,
  technicalWords
} from "@muniment/insight/rules/lexicon/speech"
import { gate, paraphrased } from "@muniment/insight/rules/SentenceGate"
import type { FormRow } from "@muniment/insight/rules/lexicon/rules"
import { anywhere, expanded, pattern } from "@muniment/insight/rules/Pattern"
import { People } from "@muniment/insight/rules/People"
import { wordsOf } from "@muniment/insight/rules/Words"
import {
  handlingVerbs,
  keepingLeads,
  lastingPlays,
  makingVerbs,
  ownLeads,
  speechVerbs,
  suppositionLeads,
  textNouns,
  textVerbs,
  endings,
  finiteForms,
  interjections,
  negators,
  pastStates,
  questionWords,
  statementJoints,
  statementLeads,
  suppositions
} from "@muniment/language/speech/speechWords"
import { writtenOut } from "@muniment/language/speech/WrittenOut"
import { briefs } from "./reading.ts"

const predicatesOf = (sentence: string): ReadonlyArray<string> => {
  const verdict = gate(writtenOut(sentence))
  if (!verdict.states) return []
  return clausesOf(wordsOf(verdict.text), new People()).clauses.map(({ predicate }) => predicate)
}

const has = ({ says, unless }: FormRow & { readonly unless?: string | undefined }, sentence: string): boolean =>
  predicatesOf(sentence).some(
    (predicate) =>
      pattern(says).test(predicate) && (unless === undefined || !anywhere(`\\b(?:${unless})`).test(predicate))
  )

/** As written, and without the capital of the sentence. */
const formsOf = (sentence: string): ReadonlyArray<string> => {
  const text = writtenOut(sentence)
  return [text, text.charAt(0).toLowerCase() + text.slice(1)]
}

describe("forms of facts and tastes", () => {
  for (const row of factForms) {
    it(`tell facts: ${row.example}`, () => {
      expect([has(row, row.example), has(row, row.counterexample)]).toEqual([true, false])
      expect(briefs(row.example)).not.toEqual([])
    })
  }
  for (const row of tasteForms) {
    it(`tell tastes: ${row.example}`, () => {
      expect(has(row, row.example)).toBe(true)
      expect(briefs(row.example).join()).toContain(`user ${row.type}: `)
      expect(briefs(row.counterexample).join()).not.toContain(`user ${row.type}: `)
    })
  }
  for (const { becomes, counterexample, example, says } of rewrites) {
    it(`are rewritten: ${example}`, () => {
      const form = new RegExp(expanded(says), "u")
      for (const text of formsOf(counterexample)) expect(form.test(text), text).toBe(false)
      const text = writtenOut(example)
      expect(formsOf(example).map((one) => one.replace(form, becomes))).not.toEqual(formsOf(example))
      expect(paraphrased(text)).not.toBe(text)
    })
  }
})

it("a part of a pattern has at most 200 characters, as a form and in a list (literals: npm run tidy)", () => {
  const lists = [
    asides,
    mentions,
    admissions,
    keepings,
    notings,
    mockeries,
    stories,
    smallTalkForms,
    rolePlays,
    attacks,
    ownSmallTalk,
    requested,
    requests,
    imperatives,
    adverbForms,
    noNames,
    verbForms,
    elidedVerbs,
    dateHints,
    noRelatives,
    offers,
    statementStarts,
    technicalWords,
    handlingVerbs,
    keepingLeads,
    lastingPlays,
    makingVerbs,
    ownLeads,
    speechVerbs,
    suppositionLeads,
    textNouns,
    textVerbs,
    endings,
    finiteForms,
    interjections,
    negators,
    pastStates,
    questionWords,
    statementJoints,
    statementLeads,
    suppositions
  ].flat()
  const forms = [...factForms, ...tasteForms, ...rewrites].map(({ says }) => says)
  expect([...lists, ...forms].filter((part) => part.length > 200)).toEqual([])
})
