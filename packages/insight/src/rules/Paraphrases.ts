/**
 * Statements as people type them, rewritten into the forms that the rules read: a missing `I am`, an
 * apposition in front of its relation, a taste told of the thing (`gluten makes me ill`). Rewriting adds
 * no content: every value of the result is in the text.
 */
import { isTrade } from "./FactRules.ts"
import { isPet, isRelation } from "./People.ts"
import { conjugated } from "./ThirdPerson.ts"

/** A statement without its first words, or in another order, as a whole sentence; most come back as they are. */
export const paraphrased = (text: string): string => {
  let result = text
  for (const [pattern, replacement] of rewrites) result = result.replace(pattern, replacement)
  return ownTrade(shared(apposed(ownedIs(result))))
}

const name = "\\p{Lu}[\\p{L}'-]+(?: \\p{Lu}[\\p{L}'-]+){0,2}"
const soft = "(?:(?:just|recently|finally|currently|still|now|newly|happily|already|originally|only|mostly) )*"
const titles = "mum|mom|dad|nan|gran|granny|grandma|grandpa|grandad|granddad"

/** The subject of what follows is the speaker: none of these begins a sentence about something else. */
const pastHead =
  "(?:turned|ran|walked|cycled|swam|hiked|switched|stopped|gave up|relocated|submitted|applied (?:for|to)|sent off|handed in|moved|can not do without|broke my|booked|signed up|passed my|landed|picked up|paid|spent|went|met|visited|flew|took up|did (?:a|an|my|\\d+|some)|built|planted|adopted|rescued|finished|completed|began|ended up|fell|saw|quit|cancelled|failed|won|lost my|joined|bought|ordered|rented|had (?:a|an|my|our)|can not (?:stand|bear|eat|drink|swim|drive|tolerate)|do not (?:eat|drink|smoke|drive|like|own)|hate|love|enjoy|prefer|never (?:eat|drink|touch|wear)|live|work (?:as|at|for|in)|speak|play the|grew up)"
const doingHead =
  "(?:flying|driving (?!in\\b)|going|heading|meeting (?:my|the|up|with|\\p{Lu})|handing in|seeing|visiting|picking (?:my |the |our )?[\\p{L}]+ ?(?:up)?|working|reading \\p{Lu}|training|learning|moving|getting (?:married|divorced|a)|starting|taking|having|staying|travelling|traveling|leaving|hosting|building|writing|saving|looking after|renting|studying|teaching|expecting|camping|hiking|celebrating|interviewing|presenting|launching)"
const stateHead =
  "(?:between jobs|unemployed|retired|married|single|divorced|widowed|pregnant|vegan|vegetarian|pescatarian|coeliac|celiac|allergic|lactose|gluten intolerant|left-handed|self-employed|based|from \\p{Lu}|born|obsessed with|addicted to|hooked on|off to|partial to|fluent in|colou?r-?blind|diabetic|a fan of)"

const rewrites: ReadonlyArray<readonly [RegExp, string]> = [
  [
    new RegExp(
      `^(?:best|cheers|(?:best|kind|warm) (?:regards|wishes)|regards|yours(?: \\w+)?|love|greetings),? (${name})[.!]?$`,
      "iu"
    ),
    "My name is $1"
  ],
  [/^(?:(?:big|huge|massive|great|lifelong|long-time) )(?=(?:fan|lover) of\b)/i, "I am a $&"],
  [new RegExp(`^(?=${soft}${stateHead}(?:\\b|(?<= )))`, "iu"), "I am "],
  [
    new RegExp(
      `^(?=${soft}${doingHead}(?:\\b|(?<= )))(?!.*\\b(?:is|are|was|were|makes?|helps?|can|will|would|has|sounds?|feels?|costs?)\\b)`,
      "iu"
    ),
    "I am "
  ],
  [new RegExp(`^(?=${soft}${pastHead}(?:\\b|(?<= )))(?!\\w+ (?:you|I|he|she|it|they|we)\\b)`, "iu"), "I "],
  [
    /^(?:the )?((?:single |proud |working |stay-at-home |new )*(?:mum|mom|mummy|dad|mother|father|parent) (?:of|to) [\w -]+?)(?: here)?[.!]?$/i,
    "I am a $1"
  ],
  [
    /^((?:two|three|four|five|six|\d|one|an?|no) (?:[\w-]+ ){0,2}(?:kids?|children|sons?|daughters?|brothers?|sisters?|siblings|dogs?|cats?|grandchildren|grandkids|parrots?)\b(?!.*\b(?:is|are|was|were|can|has|have)\b))/i,
    "I have $1"
  ],
  [
    new RegExp(`^(${name}) born and (?:bred|raised),? (?:but |and )?now (?:living |based )?in `, "u"),
    "I am from $1 and I live in "
  ],
  [new RegExp(`^(${name}) born and (?:bred|raised)\\b`, "u"), "I am from $1"],
  [
    /\bI am (?:(?:now|currently) )?in (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*) (?:now|these days|at the moment|nowadays)\b/u,
    "I live in $1"
  ],
  [/\bI am now in (?=\p{Lu})/u, "I live in "],
  [/^home (?:is|has been) (?:now )?(?:in )?(?=(?:an? |\p{Lu}))/iu, "I live in "],
  [/\bI am renting\b|\bwe are renting\b/i, "I rent"],
  [/\bI co-own\b/i, "I own"],
  [new RegExp(`^(?:my )?(${titles})'s (?=\\w+ (?:is|was|lives|works|has)\\b|\\d)`, "i"), "My $1's "],
  [
    /\b(my|our) (eldest|youngest|oldest|middle one|little one|firstborn)(?= (?:is|was|has|starts?|goes|plays?|loves?|hates?|wants?|turns?|turned|lives?|works?|studies|got|just)\b)/i,
    "$1 $2 child"
  ],
  [/^they (?:have )?(?:laid me off|let me go)\b/i, "I was laid off"],
  [/^they (?:have )?(promoted|hired|fired) me\b/i, "I was $1"],
  [/\b(?:have|has) gone (?=(?:fully |completely )?(?:vegan|vegetarian|gluten-free|keto|dairy-free)\b)/i, "became "],
  [
    /\bI (?:have )?(?:always )?(?:could|would) (?:happily )?(?:eat|drink|listen to|watch) (.+?) (?:every (?:single )?(?:day|night)|all day(?: long)?|forever|for ever)(?=[.,!]|$)/i,
    "I love $1"
  ],
  [/^(?:nothing (?:beats|is better than)|(?:you )?can not beat) (.+)$/i, "I love $1"],
  [/^(?:there is )?nothing (?:I (?:like|love|enjoy) more|better) than (.+)$/i, "I love $1"],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what)\b)((?:[\p{L}-]+ ){0,2}[\p{L}-]+) (?:makes? me (?:ill|sick|sneeze|itch|nauseous)|(?:do|does) not (?:really )?agree with me|gives? me (?:hives|migraines|heartburn|a rash|stomach ?aches?)|upsets? my stomach)\b.*$/iu,
    "I can not tolerate $1"
  ],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:suits? me best|works? best for me|is best for me|are best for me)(.*)$/iu,
    "I prefer $1$2"
  ],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:is|are) not (?:really )?(?:my thing|my cup of tea|for me)[.!]?$/iu,
    "I do not like $1"
  ],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:drives? me (?:crazy|mad|nuts|up the wall|insane)|gets? on my nerves|grosses? me out|bores? me|annoys? me)[.!]?$/iu,
    "I hate $1"
  ],
  [/^((?:[\p{L}-]+ ){0,2}[\p{L}-]+s?) (?:only|everywhere)(?:,? never \p{L}[\p{L} ]*)?[.!]?$/iu, "I prefer $1"],
  [/^([\p{L}-]+), not ([\p{L}-]+)(?:,| please)? ((?:in|for|on|when) my [\p{L} ]+)[.!]?$/iu, "I prefer $1 over $2 $3"],
  [/^(?:it is|I am called) (?=\p{Lu}[\p{L}'-]+, (?:pronounced|spelled|spelt|rhymes)\b)/iu, "My name is "],
  [/\b(?:we are|I am) (?:now |currently )?in (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*) now\b/u, "I live in $1"],
  [/\b(?:I am|we are) back in (?=\p{Lu})(?=.*\b(?:after|since|for good|again)\b)/u, "I live in "],
  [/\bmy place is (?=an? )/i, "my home is "],
  [/^([\p{L} -]{2,30}), never ([\p{L} -]{2,30})$/iu, "I prefer $1 over $2"],
  [/\bI much rather\b/i, "I would rather"],
  [/\bI (?:would |will )?(?:always )?(?:live for|swear by)\b/i, "I love"],
  [/\bI am (an?) ((?:big |huge |lifelong |die-hard )*)([\p{L} ]+?) supporter\b/iu, "I am a fan of $3"],
  [/\b(?:I )?can not do without\b/i, "I can not live without"],
  [/\bI do not (?:really )?do (?!(?:it|that|this|much|anything|well|my|the)\b)/i, "I do not like "],
  [
    /^(?:I have )?never (?:really )?been (?:a (?:big |huge )?fan of|into|keen on|fond of|one for)\b/i,
    "I am not a fan of"
  ],
  [
    /\bI (?:find|found) ([\p{L} ]{3,30}?) (?:so |really |very |deadly |incredibly )?(?:boring|dull|tedious|annoying|disgusting|overrated|exhausting|gross|revolting)\b/iu,
    "I do not like $1"
  ],
  [
    /\bI (?:find|found) ([\p{L} ]{3,30}?) (?:so |really |very )?(?:relaxing|fascinating|delicious|calming|soothing|wonderful|beautiful)\b/iu,
    "I love $1"
  ],
  [/\bI (?:could|can) (?:happily |easily )?do without\b/i, "I do not like"],
  [/^no (?!one\b|idea|problem|worries|thanks|need|way|longer|more)([\p{L} -]{3,30}?) for me\b.*$/iu, "I avoid $1"],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what|I|we)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:tastes? like (?:soap|dirt|cardboard|medicine)|stress(?:es)? me out|freaks? me out|creeps? me out|scares? me|turns? my stomach|puts? me off|is (?:disgusting|gross|the worst)|are (?:disgusting|gross|the worst))(?: to me)?[.!]?$/iu,
    "I can not stand $1"
  ],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what|I|we)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:is|are) (?:simply |just )?(?:the best|unbeatable|delicious|heaven|my happy place|a must|to die for)[.!]?$/iu,
    "I love $1"
  ],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what|I|we)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:is|are) my favorite (?:way|kind|sort|part|place|thing|time)\b.*$/iu,
    "I love $1"
  ],
  [
    /^(?!(?:it|that|this|he|she|they|you|which|what|I|we)\b)((?:[\p{L}-]+ ){0,3}[\p{L}-]+) (?:helps? me (?:relax|unwind|sleep|focus)|calms? me|cheers? me up|makes? me (?:happy|smile))\b.*$/iu,
    "I love $1"
  ],
  [/^([\p{L} -]{2,30}?) over ([\p{L} -]{2,30}?),? (?:always|any ?day|every time)[.!]?$/iu, "I prefer $1 over $2"],
  [
    /\b(?:was|is|has been|got) (?:moved|rescheduled|postponed|pushed(?: back)?|brought forward) from [\w ]{1,20}? to\b/i,
    "is moved to"
  ],
  [/^it is my ([\w ]{3,30}?) ((?:today|tomorrow|on|next|this)\b.*)$/i, "My $1 is $2"],
  [/^(today|tomorrow|(?:this |next )?\w+day) is my ([\w ].*)$/i, "My $2 is $1"],
  [/^([\p{L} -]{3,30}?)(?:,| -)? no,? thank(?:s| you)[.!]?$/iu, "I do not like $1"],
  [
    /^(?=(?:somewhere|something) (?:\p{Ll}+ )?\p{Ll}+ (?:with|without|near|under|by)\b)(?!.*\b(?:is|was|happened|went|came|has|did)\b)/u,
    "I want "
  ],
  [/\bmy go-to (?=\w+ (?:is|are)\b)/i, "my favorite "],
  [/^(?:my go-to|the go-to)(?: for (\w+))? is /i, "My favorite $1 is "],
  [/^([\p{L}' -]{3,40}?) (?:is|are) my go-to\b/iu, "I love $1"],
  [/^(my [\p{L} ]{2,20}?) is (?:at|on) (?=UTC|GMT)/iu, "$1 is "],
  [/\bI am (?:on|in) (?=(?:UTC|GMT|CET|CEST|EST|PST|EDT|PDT|BST|IST|JST)\b)/, "My timezone is "],
  [/\b(the doctor|the gp|my doctor|my gp|the vet|they) (?:has |have |just )?(?:put|started) me on\b/i, "I take"],
  [
    /^(?!(?:I|we|my|our|he|she|they|you) )((?:[a-z]+ )?(?:[a-z]+ )?(?:class|classes|lessons?|practice|training|rehearsals?|therapy|club|choir|physio)) (?=(?:every|each|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\b)/i,
    "I have $1 "
  ],
  [/\bfolks call me\b/i, "people call me"]
]

const greeting = new RegExp(
  `^(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening))[\\s,!.]+(?:there[\\s,!.]+)?(?:this is|it is) (?=${name}(?: (?:from|here|again|speaking)\\b|[.,!]|$))`,
  "iu"
)

/** `Hi, this is Maya` is a name; without the greeting it may be anything. */
export const greeted = (sentence: string): string =>
  sentence.replace(greeting, (lead, ...rest) => {
    const text: unknown = rest.at(-1)
    return typeof text === "string" && /^\p{Lu}/u.test(text.slice(lead.length)) ? "My name is " : lead
  })

/** `my wifes a pilot`: an apostrophe left out. */
const ownedIs = (text: string): string =>
  text.replace(
    /\b(my|our) ([a-z-]+?)'?s (?=(?:an?|the|from|in|allergic|not|called|married|vegan|vegetarian)\b)/gi,
    (whole, owner: string, noun: string) => (isRelation(noun) ? `${owner} ${noun} is ` : whole)
  )

const apposition = new RegExp(`^(${name}),? (?:who is )?(my|our|My|Our) ((?:[a-z]+ )?)([a-z-]+), (?=\\p{Ll})`, "u")
const contracted = new RegExp(`^(${name})'s (my|our) ((?:[a-z]+ )?)([a-z-]+)(?=[,.!]|$| who| and)`, "u")

/** `Tom, my husband, runs` -> `My husband Tom runs`; `Tom's my husband` -> `Tom is my husband`. */
const apposed = (text: string): string =>
  text
    .replace(contracted, (whole, called: string, owner: string, quality: string, relation: string) =>
      isRelation(relation) || isPet(relation) ? `${called} is ${owner} ${quality}${relation}` : whole
    )
    .replace(apposition, (whole, called: string, owner: string, quality: string, relation: string) =>
      (isRelation(relation) || isPet(relation)) && !called.endsWith("'s")
        ? `${owner.toLowerCase() === "my" ? "My" : "Our"} ${quality}${relation} ${called} `
        : whole
    )

const both = new RegExp(
  `^(${name}) and (${name}) (?:both )?(live|work|love|like|hate|enjoy|study|play|speak|have|are|teach|own|run|want|prefer|collect|drive|were|moved|got|met|bought|went) ([^,;]+)`,
  "u"
)

/** `Ana and Luis live in Bogotá` is true of each; being married or related is true of both together. */
const shared = (text: string): string =>
  text.replace(both, (whole, one: string, other: string, verb: string, rest: string) => {
    if (
      /^(?:are|got|were)$/.test(verb) &&
      /^(?:married|engaged|divorced|together|siblings|twins|my|our|getting)\b/.test(rest)
    )
      return whole
    const told = conjugated(`${verb} ${rest}`.trim(), false).replace(/^was\b/, "was")
    return `${one} ${told} and ${other} ${told}`
  })

/** `freelance illustrator here`, `as a beekeeper I am up early`. */
const ownTrade = (text: string): string => {
  const here = /^(?:[Aa]n? )?([A-Za-z][a-z-]*(?: [a-z-]+){0,2})(?: from [A-Z]\w+)? here[.!]?$/.exec(text)?.[1]
  const isNoun = here !== undefined && (/^[a-z]/.test(here) || here.includes(" "))
  if (isNoun && isTrade(here.toLowerCase())) return `I am ${article(here)} ${here.toLowerCase()}`
  const role = /^as (an?) ([a-z -]+?),? (?=I (?:am|work|have|do|get|often|usually)\b)/i.exec(text)
  if (role?.[2] === undefined || !isTrade(role[2])) return text
  return `I am ${role[1]} ${role[2]} and ${text.slice(role[0].length)}`
}

const article = (noun: string): string => (/^[aeiou]/i.test(noun) ? "an" : "a")
