/**
 * Forms of facts that stay true, matched against a predicate in the order given (`live in Rome`, from the verb on; Pattern.ts).
 * What no row states is no fact. `attribute` names the one value that the row tells: a newer one supersedes it.
 */
import type { FormRow } from "../Pattern.ts"
import type { RuleName } from "../Confidence.ts"

export interface FactForm extends FormRow {
  readonly rule: RuleName
  readonly attribute?: string
  readonly unless?: string
  /** Said of pets alone: a boss may be a snake. */
  readonly isOfPets?: boolean
}

const form = (
  rule: RuleName,
  says: string,
  example: string,
  counterexample: string,
  more: Pick<FactForm, "attribute" | "unless" | "isOfPets"> = {}
): FactForm => ({ rule, says, example, counterexample, ...more })

const who: ReadonlyArray<FactForm> = [
  form("age", "(?:{be}|turned|turns?|{be} turning|will be) <age>", "I'm 52.", "I'm 100% sure.", { attribute: "age" }),
  form("age", "{be} in (?:my|her|his) (?:early |mid-?|late )?\\w+ties", "I'm in my early thirties.", "I'm in my car."),
  form("birth", "(?:{was}|am|is) born (?:in|on|at|near)", "I was born in 1985 in Cape Town.", "I was born to run."),
  form("origin", "(?:{be}|comes?|came|hails?) from <origin>", "I'm from Galway.", "I'm from the future."),
  form(
    "origin",
    "(?:grew up|{was} raised|spent my childhood) (?:in|on|near|outside|by)",
    "I grew up in Texas.",
    "I grew up fast."
  ),
  form("role", "{be} (?:half[- ]|part )?{nationality}", "I'm Polish.", "I'm in Polish class."),
  form("status", "{be} (?:an? )?(?:{soft} )*{creed}", "I'm Catholic.", "I'm straight out of ideas.", {
    unless: "straight (?:out|up)"
  }),
  form(
    "language",
    "(?:speaks?|can speak|{be} fluent in|{be} a native speaker of) (?:\\w+ ){0,2}?(?:\\p{Lu}\\w+|(?:engl|span|turk|pol|dan|finn|swed|ir)ish|german|french|arabic|hindi|dutch|greek)",
    "I speak Tagalog.",
    "I speak fluent sarcasm."
  )
]

const homes: ReadonlyArray<FactForm> = [
  form(
    "home",
    "{live} (?:[\\w',-]+ ){0,6}?(?:in|at|near|outside|around) <city>",
    "I live in Rome.",
    "I live in fear.",
    { attribute: "home" }
  ),
  form(
    "home",
    "(?:{be}|{been}) (?:based|living|located|settled) (?:out of|in|near|at|just outside|outside) <city>",
    "I'm based in Oslo.",
    "I'm based on rules.",
    { attribute: "home" }
  ),
  form(
    "home",
    "{live} (?:alone|on my own|by myself|with (?:me|us|(?:my|our|an?|two|three|her|his) \\w+))",
    "I live with two roommates.",
    "I live with regret.",
    { attribute: "lives with" }
  ),
  form(
    "home",
    "{live} (?:in|on|near|outside|above|at) (?:an?|the|my) (?:[\\w-]+ ){0,3}{dwelling}",
    "I live on a narrowboat.",
    "I live at the gym."
  ),
  form(
    "home",
    "(?:rents?|owns?|shares?|bought) (?:an?|the|my|our|{number}) (?:[\\w-]+ ){0,3}{dwelling}",
    "I rent a small flat near the park.",
    "I rent a car."
  ),
  form(
    "change",
    "(?:{have} )?(?:moved|relocated|emigrated|immigrated)(?! (?:{det}|some|it|them|him|money)\\b)(?: [\\w',-]+){0,6}? to <city>",
    "I moved to Porto.",
    "I moved my savings to Revolut.",
    { attribute: "home" }
  ),
  form(
    "change",
    "(?:{have} )?moved (?:in with|into|out of|back to|back in with|here from) (?:my|an?|our|the|\\p{Lu}\\w*)",
    "We moved into a new house.",
    "I moved into position."
  )
]

const work: ReadonlyArray<FactForm> = [
  form(
    "work",
    "(?:{work}|{be} on shift) (?:\\w+ )?from {clock} (?:to|till|until) {clock}",
    "I work from 8 to 4.",
    "I work from home.",
    { attribute: "working hours" }
  ),
  form(
    "work",
    "{work} (?:(?:for|at) )?an? (?:[\\w-]+ ){0,3}{company}|(?:started|{be} starting|joined|{be} interning) (?:at |for )?an? (?:[\\w-]+ ){0,3}{company}",
    "I work at a bakery.",
    "I joined a queue.",
    { attribute: "employer" }
  ),
  form(
    "work",
    "{work} {number} days (?:a|per) week|do(?:es)? the (?:early|late|night|day|morning|evening) shifts?",
    "I work four days a week.",
    "I do the dishes."
  ),
  form("change", "(?:quit|left) (?:the|my) (?:[\\w-]+ )?{company}", "I quit the bakery.", "I left the shop at noon.", {
    unless: "at (?:noon|\\d)|early|late"
  }),
  form(
    "work",
    "{work} (?:(?:part|full)[- ]time )?(?:at|for|with) <employer> as an? <occupation>",
    "I work at Siemens as an engineer.",
    "I work at night.",
    { attribute: "employer" }
  ),
  form(
    "work",
    "{work} (?:(?:part|full)[- ]time |remotely |freelance )?as (?:an?|the) <occupation>(?: (?:at|for|with) <employer>)?",
    "I work as a nurse.",
    "I work as hard as anyone.",
    { attribute: "job title" }
  ),
  form(
    "work",
    "(?:{work}|{been}|joined|started|{be} starting) (?:(?:part|full)[- ]time |remotely )?(?:at|for) <employer>",
    "I work for Equinor.",
    "I work for free.",
    { attribute: "employer" }
  ),
  form("work", "joined <employer>", "I joined Equinor.", "I joined in.", { attribute: "employer" }),
  form(
    "work",
    "{work} (?:from home|in (?:[a-z]+|\\p{Lu}\\p{L}+)|(?:at|for) (?:an?|the|my|our) \\w+)",
    "I work in marketing.",
    "I work in my dreams.",
    { unless: "dreams|progress|on (?:it|that)|for (?:me|it)|together|out" }
  ),
  form(
    "work",
    "{work} (?:\\w+ )?(?:shifts|nights|remotely|part[- ]time|full[- ]time|weekends)|does not work on|do not work on",
    "I work nights.",
    "I work hard."
  ),
  form(
    "work",
    "{be} (?:self-employed|unemployed|retired|freelancing|between jobs|out of work|on (?:maternity|paternity|parental|sick) leave|laid off)",
    "I'm between jobs.",
    "I'm between meetings.",
    { attribute: "employment" }
  ),
  form(
    "change",
    "(?:{was}|got|{been}) (?:laid off|fired|made redundant|let go|promoted|hired)",
    "I was laid off.",
    "I was let down.",
    { attribute: "employment" }
  ),
  form(
    "work",
    "(?:runs?|owns?|manages?|leads?|founded|co-founded|started|opened|{have}) (?:my own|our own|her own|his own|an?|the) (?:[\\w-]+ ){0,3}{company}",
    "I run a small bakery in Lyon.",
    "I run a fever."
  ),
  form(
    "work",
    "(?:teach|teaches|taught|coach|coaches|tutors?) (?!(?:me|you|us|myself|him|her|them)\\b)\\w+",
    "I teach maths at a school.",
    "I teach myself."
  ),
  form(
    "work",
    "(?:got|landed|accepted|started|{be} starting|took|{have}) (?:an?|my|the) (?:[\\w-]+ ){0,2}(?:job|position|promotion|internship|apprenticeship) (?:at|as|with|in)",
    "I got a job at Netflix.",
    "I got a great job done.",
    { attribute: "employment" }
  ),
  form("change", "(?:got|received) an? (?:\\w+ )?promotion", "I got a promotion.", "I got a promotion email.", {
    unless: "email|code|mail"
  }),
  form(
    "change",
    "(?:quit|left|resigned from|{have} (?:quit|left)|lost) (?:my|our|her|his|the) (?:[\\w-]+ ){0,2}(?:job|position|role|company|firm)",
    "I quit my job at Amazon.",
    "I left my keys at work.",
    { attribute: "employment" }
  ),
  form(
    "change",
    "(?:no longer works?|(?:do|does) not work) (?:at|for|with) [\\w ]+",
    "I no longer work at Google.",
    "I do not work out.",
    { attribute: "employer" }
  ),
  form(
    "change",
    "(?:retired|resigned)(?: (?:in|from|last|on|as|at|early)\\b.*)?$",
    "I retired in 2021.",
    "I retired to bed.",
    { attribute: "employment" }
  ),
  form(
    "work",
    "{be} in (?:marketing|sales|finance|insurance|publishing|logistics|advertising|banking|tech|retail|construction|education|the (?:army|navy|military|police|air force))",
    "I'm in logistics.",
    "I'm in trouble."
  )
]

const studies: ReadonlyArray<FactForm> = [
  form(
    "habit",
    "(?:study|studies) (?:\\w+ )?from {clock} (?:to|till|until) {clock}",
    "I usually study from 9 till 1.",
    "I study from home."
  ),
  form(
    "study",
    "(?:study|studies|{be} studying|{been} studying|majors?|{be} majoring|majored) (?:in )?(?!(?:hard|for|more|at night|together)\\b)\\w+",
    "I study law at Leiden.",
    "I study hard.",
    { attribute: "study" }
  ),
  form(
    "study",
    "(?:studied|graduated|{have} graduated|dropped out|majored) (?:from|in|at|of) \\w+",
    "I graduated from MIT in 2015.",
    "I graduated last week."
  ),
  form(
    "study",
    "{be} (?:doing|pursuing|working on|finishing) (?:an?|my|her|his) (?:[\\w-]+ ){0,2}{degree}",
    "I'm doing a PhD in physics.",
    "I'm doing my best.",
    { attribute: "study" }
  ),
  form(
    "study",
    "(?:{have}|got|earned|finished|completed) (?:an?|my|her|his) (?:[\\w-]+ ){0,3}{degree} (?:in|from|at)",
    "I have a degree in law.",
    "I have a degree of doubt."
  ),
  form(
    "study",
    "{be} in (?:(?:my|her|his) )?(?:first|second|third|fourth|final|last|senior|junior|freshman) year|{be} in (?:year|grade|class) \\d+",
    "I'm in my final year at Oxford.",
    "I'm in my final week."
  ),
  form(
    "study",
    "(?:goes|go|went|{be} going|got|got accepted|was accepted|attends?|attended|{be} enrolled|{be}) (?:to |at |into |in )?(?:[\\w'-]+ ){0,3}{school}",
    "My son is in college.",
    "I go to bed."
  ),
  form(
    "study",
    "take(?:s|n)? (?:\\w+ ){0,2}(?:classes|lessons|courses?)",
    "I take piano lessons.",
    "I take notes in meetings."
  )
]

const family: ReadonlyArray<FactForm> = [
  form(
    "status",
    "(?:{be}|got|{been}|{be} getting) (?:{soft} )*{status}",
    "I'm married to Helen.",
    "I'm single-minded.",
    { attribute: "relationship", unless: "single-|dating app|engaged (?:in|with)|married to (?:my|the|our)" }
  ),
  form(
    "status",
    "(?:broke up|split up)(?: with| in| last|$)|tied the knot|eloped|{been} (?:together|dating) (?:for|since)",
    "I broke up with my boyfriend.",
    "I broke up the fight.",
    { attribute: "relationship" }
  ),
  form(
    "family",
    "(?:{have}|(?:do|does) not have|{be} expecting|{be} raising|adopted|lost) (?:an?|any|my|our|no|{number}|her|his) (?:[\\w-]+ ){0,3}{kin}",
    "We have two kids, Tom and Lucy.",
    "I have a sister company.",
    { unless: "company|(?:dream|love|look)\\b" }
  ),
  form(
    "family",
    "(?:{have}|{have} had|got|owns?|keeps?|adopted|{have} adopted|rescued|fosters?|(?:do|does) not have) (?:an?|any|my|our|no|{number}) (?:[\\w-]+ ){0,3}{pet}",
    "I have a cat named Luna.",
    "I have a bird's-eye view.",
    { unless: "view|nap|walk|love|dream|photo|picture|video" }
  ),
  form("family", "{be} an? (?:[\\w-]+ ){0,2}{pet}", "My dog Bella is a beagle.", "My dog Bella is a joy.", {
    isOfPets: true
  }),
  form(
    "family",
    "{be} (?:an?|the|now an?) (?:proud |single |new |working |stay-at-home )*{parent}(?: (?:of|to)|[,.]|$)",
    "I am a mother of three.",
    "I'm a father figure."
  ),
  form(
    "family",
    "(?:became|{be} going to be) an? {parent}",
    "I became an uncle.",
    "I became a father figure of sorts.",
    { unless: "figure" }
  ),
  form(
    "family",
    "(?:died|passed away)(?= (?:in|last|when|of|from|on|\\w+ (?:years|months|weeks) ago)|$)",
    "My dad passed away in 2020.",
    "My dad died laughing."
  )
]

const body: ReadonlyArray<FactForm> = [
  form("health", "had an? (?:[\\w-]+ ){0,2}{operation}", "I had a bypass in November 2024.", "I had a good laugh."),
  form(
    "health",
    "(?:{be}|{been}|{was}|became) (?:{soft} )*allergic to (?!(?:\\w+ )?{noAllergen}\\b)\\w+",
    "I'm allergic to cats.",
    "I'm allergic to Mondays."
  ),
  form(
    "health",
    "(?:{be}|{been}|{was}|became) (?:{soft} )*{condition}",
    "I'm lactose intolerant.",
    "I'm deaf to that.",
    { unless: "deaf to|blind to|celiac's" }
  ),
  form(
    "health",
    "(?:{have}|had|got|{was} diagnosed with|{been} diagnosed with|suffers? from|struggles? with|recovered from|{be} recovering from) (?:[\\w-]+ ){0,3}?{illness}",
    "I have type 2 diabetes.",
    "I have a pain in the neck."
  ),
  form(
    "health",
    "(?:takes?|{be} taking|{be} on|{was} prescribed|{been} prescribed) (?:[\\w-]+ ){0,3}?(?:\\d+ ?(?:mg|mcg|ml|iu|units)|{medicine})",
    "I take 50 mg of sertraline every morning.",
    "I take 50 minutes."
  ),
  form(
    "health",
    "(?:broke|sprained|tore|fractured|injured|twisted|dislocated) (?:my|her|his) (?:[\\w-]+ )?(?:leg|arm|ankle|knee|wrist|foot|toe|finger|hip|back|shoulder|collarbone|nose|rib|ribs|acl)",
    "I broke my leg skiing.",
    "I broke my phone."
  ),
  form(
    "health",
    "wears? (?:glasses|contacts|contact lenses|(?:a )?hearing aids?|braces|dentures)",
    "I wear glasses.",
    "I wear black."
  ),
  form(
    "health",
    "(?:do|does) not smoke|smokes?$|(?:quit|stopped|gave up|{have} (?:quit|stopped|given up)) (?:smoking|drinking|alcohol|sugar|meat|coffee|caffeine)",
    "I quit smoking.",
    "I quit smoking for two days.",
    { unless: "for \\w+ (?:days?|weeks?|hours?)" }
  ),
  form(
    "diet",
    "(?:{be}|went|{been}|became|turned|eats?|follows?|keeps?|{be} on|{be} following|{have} gone) (?:{soft} )*(?:an? |the )?(?:{soft} )*{diet}",
    "I'm on a keto diet.",
    "I'm a vegetarian between meals.",
    { attribute: "diet", unless: "between|for an? (?:day|week|month|year)|this (?:week|month)" }
  ),
  form(
    "diet",
    "{not} (?:eat|eats|drink|drinks|have|touch|tolerate) {food}|{not} (?:eat|eats|drink|drinks) [a-z]+$",
    "I don't eat pork.",
    "I don't eat out.",
    {
      unless:
        "(?:eat|drink) (?:out|much|here|lunch|dinner|breakfast|together|anything|enough|well|alone|properly|a lot)"
    }
  ),
  form("diet", "avoids? (?:\\w+ )?{food}|only (?:drinks?|eats?) {food}", "I avoid gluten.", "I avoid conflict."),
  form(
    "health",
    "(?:{be} (?:scared|afraid|terrified|frightened)|{have} a (?:\\w+ )?(?:fear|phobia)) of (?!(?:what|how|losing|missing|failing|not|being)\\b)\\w+",
    "I'm scared of spiders.",
    "I'm scared of failing."
  )
]

const life: ReadonlyArray<FactForm> = [
  form(
    "past",
    "{have} never (?:been (?:to|on|in) (?:an? )?|tried |seen |owned |driven |eaten |broken |learned |smoked )\\w+",
    "I've never been on a sleeper train.",
    "I've never been so happy."
  ),
  form(
    "plain",
    "{have} no {token}|(?:do|does) not (?:even )?(?:have|own) (?:an?|any) {token}|can not (?:ride|drive) an? \\w+",
    "I don't have a car.",
    "I don't have a clue."
  ),
  form(
    "possession",
    "{have} (?:an?|my own|our own|{number}) (?:[\\w-]+ ){0,2}{place}\\b",
    "We have a plot at the community garden.",
    "I have a place in mind.",
    { unless: "in mind" }
  ),
  form("change", "{be} moving to <city>", "I'm moving to Amsterdam.", "I'm moving to the sofa."),
  form(
    "habit",
    "(?:play|plays|swim|swims|run|runs|train|trains|bowl|bowls|dance|dances|sing|sings|do|does) .*(?:on )?(?:\\w+day|weekend|weekday)s\\b",
    "I play tennis on Mondays.",
    "I play on my own."
  ),
  form(
    "past",
    "used to (?!(?:it|that|this|the|be|have|think|feel|say)\\b)\\w+ \\w+",
    "I used to live in Paris.",
    "I used to it."
  ),
  form(
    "past",
    "(?:{have}|had) (?:(?:already|only|also) )?been to <city>|{have} never been to <city>",
    "I have been to Japan twice.",
    "I have been to hell and back."
  ),
  form(
    "past",
    "lived (?:in|on|near|abroad)|served (?:in|as|on)|volunteered (?:in|at|for|with) (?:an?|the|my|our|\\p{Lu}\\w+)",
    "I lived in Spain for three years.",
    "I lived it up."
  ),
  form(
    "past",
    "met (?:my|our) (?:husband|wife|partner|girlfriend|boyfriend|fiancée?|best friend) (?:in|at|on|through|when|while)",
    "I met my wife in college.",
    "I met my deadline."
  ),
  form(
    "plain",
    "{been} (?:an?|[\\w-]+ing) .*(?:for {number} {span}|for an? (?:year|month|week|decade)|since (?:\\d|\\p{Lu}|childhood|college|school))",
    "I've been driving trams for ten years.",
    "I've been waiting for two hours."
  ),
  form(
    "possession",
    "(?:drives?|rides?) (?:an?|my|our|the) \\w+",
    "I drive a Tesla Model 3.",
    "I drive a hard bargain.",
    { unless: "hard bargain|home|crazy|bus|train|\\w+ (?:crazy|mad|nuts)" }
  ),
  form(
    "possession",
    "(?:collects?|inherited|restores?|breeds?) (?!(?:me|him|her|data|information|my thoughts|myself)\\b)\\w+",
    "I collect vinyl records.",
    "I collect my thoughts."
  ),
  form(
    "possession",
    "owns? (?:an?|{number}|several|my|our) \\w+",
    "I own two bikes and a boat.",
    "I own my mistakes.",
    { unless: "mistakes?|feelings" }
  ),
  form("possession", "pays? (?:about |around )?[$€£]?\\d[\\d,.]*", "I pay 1200 euros in rent.", "I pay attention."),
  form(
    "possession",
    "(?:{have} )?(?:bought|purchased|sold|adopted|ordered|built|acquired) (?:an?|my|our|two|three) (?:[\\w-]+ ){0,3}\\w+",
    "I bought a new bike.",
    "I bought a round.",
    { unless: "ticket|round|story|few|lot|some|bunch|drinks?\\b" }
  ),
  form(
    "skill",
    "(?:plays?|played|can play|{be} learning) (?:the |on the )?(?:[\\w-]+ )?(?:{instrument}|{sport})",
    "I play the guitar.",
    "I play the fool."
  ),
  form("skill", "(?:do|does|did|{be} doing|practi[cs]es?|teach|teaches) {practice}", "I do yoga.", "I do my best."),
  form(
    "skill",
    "{be} (?:{soft} )*(?:good|great|bad|terrible|awful) at \\w+|(?:do|does) not know how to \\w+|knows? how to \\w+|can not (?:swim|drive|cook|ride|dance|sing|read)",
    "I'm good at chess.",
    "I'm good at last.",
    { unless: "at (?:it|that|this|last|all)" }
  ),
  form(
    "skill",
    "(?:codes?|programs?) (?:mostly |mainly )?in \\w+|(?:writes?|paints?|draws?|knits?|sews?|brews?|bakes?|grows?) (?!(?:on|up|to|off|down|out|about|you|and|with)\\b)[\\w-]+(?: [\\w-]+){0,3}$",
    "I write fantasy novels.",
    "I write to you."
  ),
  form(
    "undertaking",
    "(?:{be}|{been}|started|began|{have} started|took up|{have} taken up) (?:{soft} )*{undertaking} (?:an?|the|my|our|for|{det})? ?\\w+",
    "I'm learning Japanese.",
    "I'm planning ahead.",
    {
      unless:
        "planning (?:ahead|to|on|a few|some)|doing (?!an?\\b|{practice})|to help make|doing an? (?:good|great)|using (?:different|various|some)|writing (?:\\w+ ){1,3}down|little trips|working on (?:an?|the|my) (?:\\w+ )?(?:project|thing)s?$|learning an? (?:ton|lot)|growing (?:together|as)|taking notes|working on (?:it|this|that)|running (?:late|out|into)|working on (?:my(?:self)?|building|getting|being)|taking (?:care|it|some|time|the time|steps|a break|a moment|things)|playing (?:around|with|together|for|ever|online|professionally)|(?:ever since|as usual)|attending$"
    }
  ),
  form(
    "study",
    "(?:learned|learnt|taught (?:myself|himself|herself)) (?:to \\w+|\\p{Lu}\\w+|how to \\w+)",
    "I taught myself to sew.",
    "I learned a lot."
  ),
  form("habit", "{activity}\\b.* {often}", "I swim every morning.", "I think about it every day."),
  form(
    "habit",
    "(?:gets?|wakes?|{be}) up (?:every day |most days )?(?:around |at )(?:about |around )?{clock}",
    "I wake up at 6am.",
    "I wake up at random.",
    { attribute: "wake time" }
  ),
  form(
    "habit",
    "(?:go|goes) to (?:bed|sleep) (?:around |at )(?:about |around )?{clock}",
    "I go to bed at 11.",
    "I go to bed at last.",
    { attribute: "bed time" }
  ),
  form(
    "habit",
    "commutes? by|(?:commutes?|bikes?|cycles?|walks?) to (?:work|school|uni|the office)|takes? the (?:[\\w-]+ )?(?:bus|train|tram|metro|subway|ferry|tube)",
    "I commute by train.",
    "I walk by the sea."
  ),
  form(
    "habit",
    "(?:watch|watches|reads?|listens? to|follows?|supports?|uses?) (?:(?:a lot of|lots of|mostly|mainly) [\\w-]+|\\p{Lu}[\\w-]+)(?: [\\w-]+){0,3}$",
    "I support Liverpool.",
    "I read minds."
  ),
  form(
    "habit",
    "drinks? (?!(?:it|a|an|some|too|much|more|enough|the|my|up|to|and)\\b)[\\w-]+(?: [\\w-]+)?$",
    "I drink oat milk.",
    "I drink too much."
  ),
  form(
    "habit",
    "belongs? to an? {club}|{be} (?:a )?(?:member|part) of (?:an?|the) {club}|volunteers? (?:at|for|with) \\w+",
    "I belong to a book club.",
    "I belong to a good group of friends."
  ),
  form("change", "switched from [\\w ]+ to \\w+", "I switched from Windows to Linux.", "I switched from one side."),
  form(
    "change",
    "(?:no longer lives?|(?:do|does) not live) (?:in|at|near) <city>",
    "I no longer live in Oslo.",
    "I no longer live here.",
    { attribute: "home" }
  ),
  form(
    "change",
    "(?:no longer|{be} no longer|(?:do|does|{be}) not) {given}\\b.*",
    "I no longer eat meat.",
    "I no longer know.",
    { unless: "like (?:it|that|this)|work out|play around|works$" }
  ),
  form("change", "(?:{have} )?(?:stopped|gave up|given up) (?:\\w+ing|[a-z]+)", "I stopped dancing.", "I stopped by.", {
    unless: "stopped (?:by|at|in|for|being|to)|gave up (?:on|everything|a)"
  }),
  form(
    "change",
    "(?:{have} )?(?:deleted|cancelled|canceled|closed|renewed|ended) (?:my|our) \\w+",
    "I cancelled my gym membership.",
    "I cancelled out the noise."
  ),
  form(
    "role",
    "{be} (?:not )?an? {character}|{be} the (?:oldest|youngest|eldest|middle child)",
    "I'm an only child.",
    "I'm a joke."
  ),
  form(
    "role",
    "(?:{be}|{was}|became|{been}) (?:not )?(?:an?|the) (?:[\\p{L}\\d-]+ ){0,4}?{tradeEnd}",
    "I'm a dentist from Brno.",
    "I'm a mess.",
    { attribute: "job title" }
  )
]

export const factForms: ReadonlyArray<FactForm> = [...who, ...homes, ...work, ...studies, ...family, ...body, ...life]
