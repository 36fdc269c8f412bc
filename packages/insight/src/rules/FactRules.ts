/**
 * Plain facts that last: states that changed, health and diet, possessions, skills, habits, ongoing
 * undertakings, roles. Not moods and moments (`I am tired`, `I see`); what no row matches is not kept.
 */
import type { RuleName } from "./Confidence.ts"
import { entityOf, factOf, type RuleFamily } from "./Finding.ts"

interface Row {
  readonly rule: RuleName
  readonly pattern: RegExp
  readonly unless?: RegExp
}

const relationNoun =
  "(?:sisters?|brothers?|siblings?|kids?|child|children|sons?|daughters?|twins|babies|baby|wife|husband|girlfriend|boyfriend|partner|fiancée?|cousins?|grandkids|grandchildren|stepkids|nieces?|nephews?|roommates?|housemates?|flatmates?|family)"
const petNoun =
  "(?:dogs?|cats?|pupp(?:y|ies)|kittens?|hamsters?|parrots?|rabbits?|bunn(?:y|ies)|horses?|fish|turtles?|tortoises?|snakes?|birds?|chickens?|pets?|retrievers?|labs?|labradors?|poodles?|beagles?|corgis?|terriers?|goldfish|gecko|ferrets?|budgies?|guinea pigs?)"
const illness =
  "(?:allerg\\w*|asthma|diabetes|adhd|autism|anxiety|depression|migraines?|celiac|coeliac|arthritis|epilepsy|hypertension|high blood pressure|insomnia|eczema|psoriasis|ibs|crohn'?s|cancer|dyslexia|scoliosis|sciatica|back (?:pain|problems?)|bad (?:back|knee)|intolerance|heart condition|hay fever|tinnitus|sleep apnea|vertigo|endometriosis|pcos|hypothyroidism|anemia|astigmatism|ocd|ptsd|lupus|gout|(?:\\w+ )?surgery|chronic [\\w ]+)"
const chat =
  /^(?:have|has|had) (?:a |an |the |some |any |no |got |another |one |such |so |to |been )*(?:good |great |bad |quick |few |couple of |nice |lovely |little |big |hard |lot of |lots of )*(?:question|idea|feeling|problem|issue|time|fun|trouble|doubt|look|go|chat|cold|headache|day|weekend|to|request|point|clue|choice|chance|plans?|thought|favor|favour|luck|sense|hope|heard|seen|noticed|read|tried|decided|finished|done|made|forgotten|come|gone|lunch|dinner|breakfast|blast|bug|error|typo|busy|rough|long|crazy|appointment|meeting|exam|interview|lot|much|enough|it|that|this|them|one)s?\b/i

const rows: ReadonlyArray<Row> = [
  {
    rule: "past",
    pattern:
      /^(?:lived|fought|met|volunteered|served|interned|travelled|traveled|spent|worked|(?:have|has) never (?:been to|had|seen|tried|driven|learned|owned|flown|smoked|met)) (?!(?:it|that|this|you|such|so|like|out)\b)/
  },
  { rule: "past", pattern: /^(?:used to (?!it\b|that\b|this\b|the\b)|formerly|previously)/ },
  {
    rule: "change",
    pattern:
      /^(?:no longer|(?:am|is|are) no longer|do not .* any ?more|does not .* any ?more|am not .* any ?more|is not .* any ?more|have stopped|has stopped|stopped|gave up|have given up|switched|have switched|have changed|changed from|gave away|sold|have quit|has quit)\b/i,
    unless: /\b(?:you|your|it works|working)\b/
  },
  {
    rule: "health",
    pattern: new RegExp(
      `^(?:have|has|had|got|was diagnosed with|were diagnosed with|have been diagnosed with|has been diagnosed with|suffer from|suffers from|live with|lives with|struggle with|struggles with|recovered from|am recovering from|is recovering from|am getting|am having) (?:\\w+ ){0,4}?${illness}`,
      "i"
    )
  },
  {
    rule: "health",
    pattern:
      /^(?:am|is|are|have been|has been|was|became) (?:(?:severely|deathly|highly|mildly|badly|slightly|very|a bit|lactose|gluten|completely|partially|not|red-green) )*(?:allergic|intolerant|diabetic|asthmatic|colou?r-?blind|deaf|blind|dyslexic|autistic|epileptic|left-handed|right-handed|anemic|near-?sighted|short-?sighted|hard of hearing|celiac|coeliac|in remission|sober|in recovery|diagnosed|in a wheelchair|(?:\w+ )?(?:weeks|months) pregnant|on (?:medication|insulin|antidepressants))\b/i
  },
  {
    rule: "health",
    pattern:
      /^(?:take|takes|am taking|is taking|have been taking|am on|is on|was prescribed|have been prescribed) (?:[\w-]+ ){0,4}?(?:\d+ ?(?:mg|mcg|ml|g|iu|units)\b|medication|medicine|pills|insulin|antibiotics|antidepressants|metformin|ibuprofen|lisinopril|statins?|aspirin|levothyroxine|vitamins?|supplements?|inhaler|blood thinners|sertraline|melatonin)/i
  },
  {
    rule: "health",
    pattern:
      /^(?:broke|sprained|tore|fractured|injured|had (?:a |an |my )?(?:heart attack|stroke|surgery|operation|c-section|appendix|knee|hip)|quit smoking|smoke|smokes|do not smoke|do not drink|wear glasses|wears glasses|wear (?:a )?(?:hearing aid|contact)|need glasses)/i
  },
  {
    rule: "diet",
    pattern:
      /^(?:am|is|are|went|have been|has been|became|turned|eat|eats|follow|follows|am following|keep|keeps|am on|is on|am doing) (?:a |an |mostly |strictly |strict |fully |not |currently |the )*(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|gluten-free|gluten free|dairy-free|keto|ketogenic|paleo|halal|kosher|low-carb|plant-based|intermittent fasting|mediterranean|low-sodium|carnivore)/i
  },
  {
    rule: "family",
    pattern: new RegExp(
      `^(?:have|has|have got|has got|do not have|am expecting|is expecting|am having|just had|had|raise|raises|am raising|lost|have adopted|adopted|am the (?:mother|father|parent)|am an? (?:proud |single )?(?:mother|father|dad|mom|mum|parent|grandmother|grandfather|aunt|uncle)|became an? (?:mother|father|dad|mom|mum|parent|grandmother|grandfather|aunt|uncle))\\b.*?(?:\\b${relationNoun}\\b|$)`
    ),
    unless:
      /^(?:have|has|had|have got|has got|do not have|lost|raise|raises)\b(?!.*\b(?:sister|brother|sibling|kid|child|son|daughter|twin|bab|wife|husband|girlfriend|boyfriend|partner|fianc|cousin|grand|step|niece|nephew|mate|family))/
  },
  {
    rule: "family",
    pattern: new RegExp(
      `^(?:have|has|have got|has got|got|own|owns|keep|keeps|adopted|have adopted|rescued|foster|fosters|do not have|lost|am getting)\\b (?!to\\b).*?\\b${petNoun}\\b`,
      "i"
    ),
    unless: /\bfish (?:for|and)\b/
  },
  {
    rule: "family",
    pattern:
      /^(?:am|is) (?:an only child|the (?:oldest|youngest|eldest|middle)|(?:the )?(?:mother|father|parent) of|a (?:mom|mum|dad|mother|father|parent|grandparent|twin|triplet|widow|widower)|adopted|an orphan)\b|^(?:died|passed away|has passed away|has died)\b/
  },
  {
    rule: "status",
    pattern:
      /^(?:am|is|are) (?:a |an )?(?:half |part |originally )*(?:non-binary|nonbinary|gay|lesbian|bisexual|queer|trans|transgender|straight|asexual|christian|catholic|muslim|jewish|hindu|buddhist|atheist|agnostic|protestant|mormon|sikh|quaker)\b/i
  },
  {
    rule: "possession",
    pattern: /^(?:do|does) not (?:own|drive|smoke|speak|wear|watch|celebrate|cook|dance|play|swim)\b/,
    unless: /\b(?:it|that|this|you|well)\b/
  },
  {
    rule: "possession",
    pattern:
      /^(?:own|owns|pay|pays|drive|drives|ride|rides|rent|rents|lease|leases|collect|collects|inherited)\b(?! (?:me|home|to|it|that|him|her)\b)/
  },
  {
    rule: "possession",
    pattern:
      /^(?:have |has |just )?(?:bought|purchased|ordered|got|acquired|picked up|sold|built|received|am buying|is buying|closed on|put an offer)\b (?:myself |ourselves )?(?:a|an|the|my|our|some|two|three|new|[A-Z0-9])\b/,
    unless:
      /^(?:have |just )?got (?:a |an |the |my |some )?(?:\w+ )?(?:question|idea|feeling|problem|error|message|email|call|headache|cold|chance|point|job|it|lot|bit|email|reply|response|result)/
  },
  {
    rule: "possession",
    pattern: /^(?:have|has|have got|has got) (?:a|an|my own|our own|two|three|four|five|\d+|several|many|over \d+)\b/,
    unless: chat
  },
  {
    rule: "habit",
    pattern:
      /^(?:keeps?|raises?|grows?|breeds?|cares? for|looks? after|helps? out|shops? at|buys? (?:my|our|his|her)|wears?) (?!(?:it|that|this|you|up|in mind|me|an eye)\b)/
  },
  {
    rule: "skill",
    pattern:
      /^(?:am|is|are) (?:really |pretty |very |not )*(?:good|great|bad|terrible|awful|new) (?:at|to|with) (?!(?:it|that|this|you|me|go|see|know|hear)\b)|^(?:am|is|are) (?:scared|afraid|terrified|frightened) of/
  },
  {
    rule: "skill",
    pattern:
      /^(?:play|plays|played|can play|sing|sings|dance|dances|juggle|paint|paints|draw|draws|sculpt|knit|knits|crochet|crochets|sew|sews|surf|surfs|ski|skis|snowboard|climb|climbs|code|codes|program in|programs in|cook|cooks|bake|bakes|brew|brews|garden|gardens|know how to|knows how to|can (?:cook|swim|drive|code|sing|dance|ski|surf|ride|type|juggle|not swim|not drive|not cook)|do (?:yoga|pilates|crossfit|karate|judo|photography|pottery|ceramics|woodworking)|does (?:yoga|pilates|crossfit|karate|judo|photography|pottery|ceramics|woodworking)|practi[cs]es?)\b/i,
    unless: /\b(?:you|your|on words)\b/
  },
  {
    rule: "undertaking",
    pattern:
      /^(?:have been|has been|am|is|are|was|started|began|have started|has started|just started|have begun|picked up|took up|have taken up) (?:currently |now |slowly )*(?:learning|taking|training|building|writing|volunteering|teaching|renovating|restoring|remodeling|saving|developing|creating|designing|growing|raising|coaching|organi[sz]ing|planning|preparing|practi[cs]ing|keeping|selling|moving|switching|leaving|trying to|running|making|working on|recording|researching|applying|studying|doing|playing|house hunting|job hunting|looking for (?:a|an|my) (?:new |first )?(?:job|house|apartment|flat|home|place|roommate)|rehearsing|fostering|homeschooling|self-studying|attending|going|seeing|hosting|painting|knitting|fundraising|rebuilding|reading|watching|using)\b/i,
    unless:
      /\b(?:you|your|this|that|it|sense|to understand|sure|to figure|fun of|good|well|great|okay|ok|fine|a mistake)\b|looking for (?:a|an) (?:recipe|gift|book|way)/i
  },
  {
    rule: "undertaking",
    pattern:
      /^(?:volunteer|volunteers|mentor|mentors|train|trains|compete|competes|blog|blogs|stream|streams|write|writes|finished|completed|published|wrote|won|passed|failed|earned|received|ran|climbed|visited|have visited|has visited|have been to|has been to|have run|have climbed|have written|have published|released|launched)\b/,
    unless: /\b(?:you|your|this|that|it)\b/
  },
  {
    rule: "study",
    pattern:
      /^(?:learn|learns|learned|take (?:\w+ )?(?:classes|lessons)|takes (?:\w+ )?(?:classes|lessons)|start|starts|am starting) (?!(?:about|from|it|that|to|with|off)\b)/
  },
  {
    rule: "habit",
    pattern:
      /\b(?:every|each) (?:\w+ )?(?:day|morning|night|evening|week|month|year|weekend|summer|winter|spring|monday|tuesday|wednesday|thursday|friday|saturday|sunday|other day)\b|\b(?:daily|twice a|once a|times a|times per|\d+ (?:km|miles|hours) a|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|on weekdays|in the (?:morning|evening)s?|before (?:work|bed|breakfast)|after work)\b/i,
    unless: /\b(?:you|your)\b|^(?:am|was|is) (?:tired|so|very)/i
  },
  {
    rule: "habit",
    pattern:
      /^(?:(?:get|gets|wake|wakes) up|go to (?:bed|sleep|the gym|church|mass|therapy)|goes to (?:bed|sleep|the gym|church|mass|therapy)|commute|commutes|cycle to|bike to|walk to|take the (?:bus|train|subway|tube|metro)|meditate|meditates|journal|work out|works out|jog|jogs|rarely|seldom|hardly ever|run \d|swim|swims|run|runs|hike|hikes|cycle|cycles|bike|bikes|fish|fishes|hunt|sail|sails|read|reads|watch|watches|listen to|listens to|drink|drinks|eat|eats|use|uses|follow|follows|support|supports)\b/i,
    unless: /\b(?:you|your|this|that|it|out of|into)\b/
  },
  {
    rule: "role",
    pattern:
      /^(?:am|is|are|was|were|became|have been|has been) (?:not )?(?:an?|the|one of the) (?!(?:bit|little|nightmare|mess|idiot|fool|joke|problem|fan|big fan|lot|one|same|only|best|worst|reason|type|kind|sort|good|bad|great|nice|huge|big|total|complete|few|way|case|point|shame|pity|wreck|disaster|must|pleasure|long|fun|hard|nightmare|ai|dream|second|minute|while|time|thing|first time|last)\b)[\p{L}\d]/u,
    unless: /\b(?:it|that|this|you|your)\b/
  },
  {
    rule: "role",
    pattern:
      /^(?:am|is|are) (?:half[- ])?(?:American|British|English|Scottish|Irish|Welsh|Canadian|Australian|German|French|Spanish|Italian|Portuguese|Dutch|Belgian|Swiss|Austrian|Polish|Czech|Russian|Ukrainian|Greek|Turkish|Swedish|Norwegian|Danish|Finnish|Icelandic|Japanese|Chinese|Korean|Indian|Pakistani|Vietnamese|Thai|Filipino|Indonesian|Malaysian|Mexican|Brazilian|Argentinian|Colombian|Chilean|Peruvian|Nigerian|Kenyan|Ghanaian|Egyptian|Moroccan|South African|Ethiopian|Iranian|Persian|Israeli|Lebanese|Hungarian|Romanian|Bulgarian|Croatian|Serbian|Estonian|Latvian|Lithuanian|Cuban|Jamaican|Kiwi)\b/
  },
  {
    rule: "role",
    pattern:
      /^(?:am|is|are) (?:about )?(?:\d+(?:\.\d+)? ?(?:cm|m|ft|feet|foot|kg|lbs?|pounds)\b|\d'\d|(?:[1-9]|five|six) (?:foot|feet))/i
  },
  {
    rule: "work",
    pattern:
      /^(?:make|build|fix|repair|sell|design|write|paint|grow|restore|breed|clean|test|drive|bake|teach|train)s? .*\bfor a living\b|^(?:am|is) in (?:the (?:army|navy|military|police|air force|marines|coast guard|fire service)|(?:marketing|sales|finance|insurance|publishing|logistics|advertising|banking|tech|it|hr|retail|hospitality|construction|real estate|healthcare|education|academia)\b)|^(?:do|does|work|works) (?:\w+ )?(?:night )?shifts\b|^fix(?:es)? \w/i
  },
  {
    rule: "habit",
    pattern:
      /^(?:take|takes|catch|catches) the (?:[\w:.-]+ )?(?:bus|train|tram|metro|subway|ferry|tube)\b|^(?:snores?|smokes?|stutters?|sleepwalks?)\b/i
  },
  {
    rule: "change",
    pattern:
      /^(?:have |has |just |finally )*(?:deleted|cancelled|canceled|closed|dropped|ended|left|paused|renewed) (?:my|our|his|her|the) \w/i,
    unless: /\b(?:file|branch|row|table|folder|line|tab|message|repo|column|record)s?\b/i
  },
  {
    rule: "health",
    pattern: /^(?:am|is|are) in (?:hospital|rehab|a (?:wheelchair|care home|coma)|the hospital|labou?r|remission)\b/i
  },
  { rule: "home", pattern: /^(?:am staying|is staying|are staying|belong to|belongs to|have lived|share|shares)\b/ }
]

/** `am a paediatric dentist from Brno`: what ends like a trade is one. */
const occupationIn = (predicate: string): string | undefined => {
  const told =
    /^(?:am|is) (?:an? |the )(?:\d+[- ]year[- ]old )?([\p{L}][\p{L} -]*?)(?= (?:at|for|in|with|on|from|and|who|based|by)\b|[,.;]|$)/u.exec(
      predicate
    )?.[1]
  return told !== undefined && isTrade(told) ? told : undefined
}

/** A noun phrase that ends like an occupation. */
export const isTrade = (noun: string): boolean =>
  trade.test(noun) && !/\b(?:user|customer|newcomer|beginner|member|winner|stranger|number)$/i.test(noun)

const trade =
  /(?:(?!(?:lover|owner|brother|sister|mother|father|beginner|member|loser|believer|parent|cancer|smoker|drinker|reader|eater|sleeper|person|gamer|foodie)$)[a-z]+(?:er|or|ist|ian|ant|eer|ect|yst)|nurse|chef|student|clerk|pilot|coach|judge|vet|cook|midwife|surgeon|mechanic|plumber|lawyer|doctor|ceo|cto|optician|barista|secretary|executive|representative|analyst|technician)$/i

/** About a program or data at hand, not about a person. */
export const technical =
  /\b(?:for loops?|while loops?|arrays?|(?:two|three|\d+) tables|lists? of|functions?|scripts?|datasets?|columns?|rows|variables?|strings?|version \d|timeouts?|404|40\d|50\d|errors?|exceptions?|endpoints?|api|json|csv|regex|npm|queries|query|commands?|classes called|objects?|parameters?|arguments?|log files?|stack ?trace|warnings?|pull requests?|branch(?:es)?|spreadsheets? with)\b/i

/** `sold it`: about something that another sentence names. */
const pointsOnly = /^(?:(?:have|has|am|is) )?(?:\w+) (?:it|that|this|them|those|these|some|one|him|her)(?:[.,!]|$)/

export const factRules: RuleFamily = (scene) => {
  const { predicate, subject } = scene.clause
  if (subject.type === "attribute" || pointsOnly.test(predicate)) return undefined
  if (subject.type === "speaker" && technical.test(predicate)) return undefined
  const row = rows.find(({ pattern, unless }) => pattern.test(predicate) && unless?.test(predicate) !== true)
  if (row === undefined) return undefined
  const occupation = row.rule === "role" ? occupationIn(predicate) : undefined
  return [factOf(scene, row.rule, entityOf(scene, occupation === undefined ? {} : { occupation }))]
}
