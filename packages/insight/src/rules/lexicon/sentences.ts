/**
 * Alternatives of the patterns by which a sentence is judged (SentenceGate.ts): parts of regular expressions, one a line or
 * separated by ` / `.
 */
import { phrases, rowsOf } from "@muniment/language/text/OneOf"
import type { FormRow } from "./rules.ts"

export const asides = phrases(String.raw`
  by the way / out of character / back to reality / for real now / in fact / as a matter of fact / to be honest
  to be fair / for (?:the|your) (?:record|info|information|reference|context) / for what it is worth / for context
  for background / some background / a bit about me / about me / just so you know / so you know / just to let you know
  as you know / as I said / as I mentioned / first of all / first off / on another note / one more thing
  another thing / on the other hand / in general / these days / nowadays / at the moment / right now / currently
  in my free time / in my spare time / on weekends / unfortunately / fortunately / luckily / sadly / happily
  basically / personally / speaking of which / guess what / believe it or not / turns out / it turns out(?: that)?
  the thing is / the good news is / the bad news is / not to brag but / since you ask(?:ed)?
  since we last (?:spoke|talked|chatted) / after all / of course / obviously / frankly / seriously / long story short
  to clarify / to correct myself / I misspoke / my mistake / my bad
`)

export const mentions = phrases(String.raw`
  wanted / want / would like / thought I would / thought I should / need / have / should / must / might as well / can
  have got
`)

export const admissions = phrases(String.raw`
  forgot to (?:mention|say|tell you) / (?:already )?(?:told|mentioned to) you
  am (?:happy|glad|pleased|excited|proud|sad|sorry|afraid) (?:to (?:say|report|announce|tell you)|that)
  am (?:pretty |quite |very )?sure(?: that)?
  (?:do )?(?:believe|confess|admit|must say|have to say|have to admit|guess|think|suppose|mean) / know(?: that)?
  realized(?: that)? / just realized(?: that)? / noticed(?: that)? / found out(?: that)? / just found out(?: that)?
`)

export const keepings = phrases(String.raw`
  remember / note / keep in mind / bear in mind / do not forget / never forget / make a note / take note / note down
  save / store
`)

export const notings = phrases(String.raw`
  put (?:this|that|it) down / write (?:this|that|it) down / note (?:this|that)?(?: down)?
  add (?:this |that |it )?to (?:my|the) (?:calendar|contacts|notes|diary) / for (?:my|the) (?:calendar|diary|records?)
`)

export const mockeries = phrases(String.raw`
  ^(?:[Yy]eah|[Ss]ure|[Oo]h),? (?:right|sure)\b / \b[Nn]ot that (?:I|we)\b / \bor anything[.!]?$
  ^oh,? (?:great|joy|wonderful|fantastic|brilliant|yay|perfect|lovely)\b / \b(?:LOVE|ADORE)\b
  \blove (?:it when|waiting|being (?:ignored|late|woken|stuck|on hold)|getting (?:spam|ignored))
  \b(?:because|cause) who does not\b
`)

export const stories = phrases(String.raw`
  \b(?:writing|drafting|filming|sketching) (?:a|the|my) (?:scene|chapter|story|sketch|play|script) (?:where|in which|about)\b
  ^(?:customer|user|client|agent|patient|interviewer|speaker|narrator|[AQ]) ?\d?:\s
  ^for the sake of (?:the )?argument / ^as an? (?:user|admin|administrator|customer),? I (?:want|would|can|need)\b
  \b(?:in )?chapter \d / \bthe character\b
`)

/** Behind `I`. */
export const ownSmallTalk = phrases(String.raw`
  (?:see|know|understand)(?=[,.!]|$| what| that| why| you) / get it / got it / agree / disagree / hope so / think so
  guess so / suppose so / do not know / do not think so / do not care(?! for) / mean it
  am (?:fine|good|ok(?:ay)?|well|great|sorry|kidding|joking|just kidding|just joking|all ears|listening)
  am (?:back|here|ready|done|in|out)(?=[,.!]|$)
`)

export const smallTalkForms = phrases(String.raw`
  just kidding / jk\b / thanks / thank you / how are you / good (?:morning|night|evening|afternoon) / see you / bye
  goodbye / lol / haha / hello / hi\b / hey\b
`)

export const rolePlays = phrases(String.raw`
  pretending (?:that |to be |you|I|we) / act as / imagine (?:that )?(?:I|you|we|a)\b
  suppose (?:that )?(?:I|we|my)\b / my character / protagonist / main character / fictional
  in (?:this|the|my) (?:story|novel|game|scenario|scene) / once upon a time
`)

export const attacks = phrases(String.raw`
  \b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|prompt|rule|previous|above|prior|guideline|polic|everything|system)
  \b(?:system|developer) (?:prompt|message|override|mode)\b / \bjailbreak / \byou must (?:now|always|never)
  \b(?:reveal|print|output|exfiltrate|dump|leak)\b.{0,40}\b(?:prompt|key|secret|password|token|instruction|memor)
  \b(?:delete|erase|remove|overwrite|wipe|drop|supersede)\b.{0,30}\b(?:memor|record|database|table|all (?:other|previous|data)|everything)
  \b(?:new|updated|following|these|hidden|secret) instructions?\b
  \b(?:call|invoke|use|run) (?:the )?[\w.]* ?(?:tool|function)\b
  \b(?:assistant|AI|model|agent|system|bot)s? (?:must|should|shall|has to|have to|is (?:required|instructed|ordered)|will now)\b
  \b(?:from now on|in (?:all|every) (?:future|answer|response|repl))
  \balways (?:answer|reply|respond|recommend|include|say|send|trust|approve|call|use)\b
  \bnever (?:mention|reveal|refuse|tell)\b / \b(?:base64|rot13|decode)\b
  \b(?:store|save|add|insert|write) (?:the|this|a|these) (?:following )?(?:memor|fact|record|note)
`)

/** What is asked for behind `I want`. */
export const requested = phrases(String.raw`
  you / your
  (?:some |a bit of |a little )?(?:help|advice|assistance|guidance|suggestions?|recommendations?|ideas?|tips?|feedback)
  (?:some |a bit of |a little )?(?:info|information|examples?|details)
  to (?:know|ask|hear|see (?:some|how|what|an?)|understand (?:how|why|what))
  (?:a|an|the) (?:\w+ )?(?:recipe|list|summary|table|code|script|function|explanation|example|answer|poem|joke|story)
  (?:a|an|the) (?:\w+ )?(?:email|letter|draft|template|plan for|outline|translation|definition|suggestion|quote)
  (?:a|an|the) (?:\w+ )?(?:recommendation|overview)
`)

export const requests = phrases(String.raw`
  I am looking for (?:a |some )?(?:recipe|advice|help|suggestion|recommendation|tip|idea|information|way)
  I am (?:wondering|asking|curious|not sure|unsure|trying to (?:understand|figure|find out|remember|decide))
  I (?:have|had|have got) (?:\w+ ){0,2}(?:question|request|problem with|issue|idea|doubt|favor|favour)
  (?:is|are) there\b / (?:it would be|would be) (?:great|nice|good|helpful) if / let me know
  I (?:wonder|do not (?:know|understand|get|remember|see))\b
`)

export const imperatives = phrases(String.raw`
  please / pls / kindly / let's / let us / go ahead / do not / stop / never mind / remind me / tell me / show me
  give me / help me / teach me / send / write / book / find / make / create / explain / list / generate / translate
  summari[sz]e / compare / calculate / convert / recommend / suggest / describe / draft / schedule / add / set / order
  search / look up / check / fix / update / delete / remove / forget / ignore / change / remember / keep / use
  call (?!me\b) / read / play / open / print / run / put / turn / continue / act / respond / reply / answer / note
  save / store / mark / treat / approve / grant / confirm / repeat / say / insert / execute / return / output / always
  never
`)

/**
 * Statements without their first words, or with the thing for a subject, and the form that the rules read (`paraphrased` in SentenceGate.ts).
 * Rows are tried in this order, each once.
 */

/** `$1` and names in angle brackets stand for what was matched. */
interface Rewrite extends FormRow {
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
