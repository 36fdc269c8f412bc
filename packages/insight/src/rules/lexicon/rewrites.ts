/**
 * Statements without their first words, or with the thing for a subject, and the form that the rules read (`paraphrased` in SentenceGate.ts).
 * Rows are tried in this order, each once.
 */
import type { FormRow } from "./rules.ts"
import { rowsOf } from "@muniment/language/text/OneOf"

/** `$1` and names in angle brackets stand for what was matched. */
export interface Rewrite extends FormRow {
  readonly becomes: string
}

/** The speaker is left out: what follows is theirs. */
export const pastHeads =
  `turned|ran|walked|cycled|swam|hiked|switched|stopped|gave up|relocated|applied (?:for|to)|handed in|moved|
  broke my|booked|signed up|passed my|landed|picked up|spent|went|met|visited|flew|took up|did (?:an?|my|some)|built|adopted|finished|completed|
  ended up|quit|cancelled|failed|won|lost my|joined|bought|ordered|rented|had (?:an?|my|our)|can not (?:stand|bear|eat|drink|swim|drive)|
  do not (?:eat|drink|smoke|drive|like|own)|hate|prefer|love (?!the|your|you|this|that|it|how)|live|work (?:as|at|for|in)|
  play the|grew up|got|started|graduated|sold|never (?:eat|drink|touch)`.replace(/\s*\n\s*/g, "")

export const doingHeads =
  `flying|driving (?!in)|heading|meeting (?:my|up|with|\\p{Lu})|visiting|working (?:as|at|for)|training|learning|moving|getting (?:married|divorced)|
  starting|travell?ing|leaving|hosting|saving|renting|studying|teaching|expecting|trying to (?:learn|quit|lose)`.replace(
    /\s*\n\s*/g,
    ""
  )

export const stateHeads =
  `between jobs|unemployed|retired|married|single|divorced|widowed|pregnant|vegan|vegetarian|pescatarian|coeliac|celiac|
  allergic|lactose|gluten intolerant|left-handed|self-employed|based|from \\p{Lu}|born|obsessed with|addicted to|hooked on|
  partial to|fluent in|colou?r-?blind|diabetic|a fan of`.replace(/\s*\n\s*/g, "")

/** `form :: what it becomes :: example :: counterexample`. */
const table = String.raw`
  ^(?:please )?sign it (?:as |with )?(?=\p{Lu}\p{L}+ \p{Lu}\p{L}+[.!]?$) :: My name is  :: Sign it Dario Conti. :: Sign it here.
  ^(?:they|the doctors?|my doctor) (?:just )?(?:found out|told me|discovered|diagnosed)(?: that)? I am ([\p{L} -]+?)(?: (?:in|on|last|this) [\p{L}\d ]+)?[.!]?$ :: I am $1 :: They found out I'm coeliac. :: They found out I was there.
  ^(?:on |every )?((?:\p{L}+day|weekend)s?) I (?=(?:usually |always )?(?:play|swim|run|train|work|go|do|sing|dance|teach|volunteer|cook)\b)(.+?)[.!]?$ :: I $2 on $1 :: On Sundays I play five-a-side. :: On Sunday it rains.
  ^(?:{big} )(?=(?:fan|lover) of\b) :: I am a $& :: Huge fan of opera. :: A huge fan broke.
  ^((?:single |proud |working |stay-at-home )*(?:mum|mom|dad|mother|father|parent) (?:of|to) (?:{number}|an? |twins|triplets)[\w -]*?)(?: here)?[.!]?$ :: I am a $1 :: Proud mum of two here. :: Mum of course said no to me.
  ^((?:{number}|an?|no) (?:[\w-]+ ){0,2}(?:kids|children|sons?|daughters?|brothers?|sisters?|siblings|dogs?|cats?)(?=[,:.!]|$)) :: I have $1 :: Two kids, Tom and Lucy. :: Two kids ran past.
  \bI am (?:(?:now|currently|back) )?in (?=\p{Lu}[\p{L}' -]+ (?:now|these days|nowadays|for good)\b) :: I live in  :: I'm in York now. :: I'm in Paris today.
  \bI am now in (?=\p{Lu}) :: I live in  :: I'm now in York. :: I am now in trouble.
  \b(?:I am|we are) renting\b :: I rent :: I'm renting a flat. :: I was renting a flat.
  \bI do not do (?={food}\b) :: I do not eat  :: I don't do dairy. :: I don't do mornings.
  ^they (?:have )?laid me off\b :: I was laid off :: They laid me off. :: They laid the table.
  \b(?:have|has) gone (?=(?:fully |completely )?(?:vegan|vegetarian|gluten-free|keto)\b) :: became  :: I've gone vegan. :: I have gone home.
  ^nothing (?:beats|is better than) (.+)$ :: I love $1 :: Nothing beats fresh bread. :: Nothing works.
  ^<thing> (?:is|are) not (?:really )?(?:my thing|my cup of tea|for me)[.!]?$ :: I do not like $1 :: Jazz is not my thing. :: It is not my thing.
  ^<thing> (?:makes? me (?:ill|sick|sneeze)|does not agree with me|gives? me (?:hives|migraines|heartburn))\b.*$ :: I do not tolerate $1 :: Gluten makes me ill. :: It makes me ill.
  \b(?:the doctor|the gp|my doctor|my gp|they) (?:has |have |just )?(?:put|started) me on(?! hold)\b :: I take :: The doctor put me on metformin, 500 mg. :: The doctor put me on hold.
`

export const rewrites: ReadonlyArray<Rewrite> = rowsOf(table).map(
  ([says = "", becomes = "", example = "", counterexample = ""]) => ({ says, becomes, example, counterexample })
)
