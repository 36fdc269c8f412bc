/**
 * Forms by which somebody corrects what they said (Corrections.ts), as statements before anything is removed from them.
 * `noun` names an event, `was` and `now` are values, `day` is when it is now.
 */
import type { FormRow } from "./rules.ts"
import { phrases, rowsOf } from "@muniment/language/text/OneOf"

/** A statement without one of these corrects nothing. */
export const correctionHints = phrases(String.raw`
  not / now / actually / instead / rather / moved? / postponed? / rescheduled / pushe?d? / delayed / forward / put off / cancel\w* / called off
  scrapped / through / meant / mean / make / wait / sorry / no / nope / oops / scratch / correction / it is / that is / my bad
`)

export interface CorrectionForm extends FormRow {
  readonly type: "moved" | "cancelled" | "swapped" | "meant"
}

/** `type :: form :: example :: counterexample`. */
const table = String.raw`
  swapped :: ^{oops}*(?:I (?:meant|mean) )?(?:it |that |he |she |they |{theirs}<noun> )?(?:{be} |{was} )?not (?:{at} )?<was>,? but (?:{at} )?<now>$ :: The wedding is not in Napier but in Hastings. :: I am not tired but I am bored.
  swapped :: ^{oops}*(?:I (?:meant|mean) )?(?:it |that |{theirs}<noun> )?(?:(?:is|was|should be|make (?:it|that)) )?(?:actually )?(?:{at} )?<now>,? (?:not|instead of|rather than) (?:{at} )?<was>$ :: I meant Porto, not Lisbon. :: I am not tired.
  moved :: ^{oops}*{theirs}<noun> (?:{drift} )+{movedDate} (?:forward |back )?(?:to|until|till|for) (?:the )?<day>$ :: The exam got moved to the 26th! :: The office has moved to Leeds.
  moved :: ^{oops}*{theirs}<noun> (?:is|are|was|will be) (?:now|actually|instead) (?:on |from |at )?(?:the )?<day>$ :: My exam is now on 26 June. :: My exam is now over.
  moved :: ^{oops}*(?:it|that|this|they) (?:{drift} )*(?:{movedDate} (?:forward |back )?(?:to|until|till|for)|on|now|actually|rather) (?:on )?(?:the )?<day>$ :: It's been postponed to Friday. :: It is Friday.
  moved :: ^{oops}*(?:I|we|they|he|she|\p{Lu}\p{Ll}+) (?:have |has |had to )?(?:{movedDate}|move|postpone|push) (?:it|{theirs}<noun>) (?:too |back |forward )*(?:to|until|till) (?:the )?<day>$ :: We moved the party to Saturday. :: We moved the sofa to the wall.
  cancelled :: ^{oops}*{theirs}<noun> (?:{drift} )+(?:cancelled|canceled|called off|scrapped|off now)$ :: The school visit is cancelled. :: The visit is fine.
  cancelled :: ^{oops}*{theirs}<noun> (?:is not happening|will not happen|is not taking place|fell through)(?: either| any ?more| after all)?$ :: My half marathon isn't happening. :: It is not happening to me.
  cancelled :: ^{oops}*(?:I|we|they) (?:have |had to )?(?:cancelled|canceled|cancel|called off|scrapped) {theirs}<noun>$ :: We cancelled the trip. :: I cancelled.
  cancelled :: ^{oops}*(?:I am|we are|I will|we will) not <noun> (?:any ?more|after all)$ :: I'm not flying to Auckland anymore. :: I am not sure any more.
  meant :: ^(?:{oops}*I (?:meant|mean)(?: to say)?,? |{oops}+|make (?:that|it) )(?:it is |that is |it should be )?(?:{at} )?(?:the )?<now>$ :: Sorry, I meant Porto. :: I live in Porto.
`

export const correctionForms: ReadonlyArray<CorrectionForm> = rowsOf(table).map(
  ([type, says = "", example = "", counterexample = ""]) => ({
    type: type as CorrectionForm["type"],
    says,
    example,
    counterexample
  })
)
