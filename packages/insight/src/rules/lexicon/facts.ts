/**
 * Forms of facts that stay true, one a line: `rule = attribute :: form :: example :: counterexample :: unless`. A form
 * is matched against a predicate (`live in Rome`, from the verb on; Pattern.ts), in the order given; what no row states
 * is no fact. An attribute names the one value that the row states: a newer one supersedes it. `of pets` are said of
 * pets alone: a boss may be a snake.
 */
import type { FormRow, RuleName } from "./rules.ts"
import { rowsOf } from "@muniment/language/text/OneOf"

export interface FactForm extends FormRow {
  readonly rule: RuleName
  readonly attribute: string | undefined
  readonly unless: string | undefined
  readonly isOfPets: boolean
}

const rows = rowsOf(String.raw`
  age = age :: (?:{be}|turned|turns?|{be} turning|will be) <age> :: I'm 52. :: I'm 100% sure.
  birth :: (?:{was}|am|is) born (?:in|on|at|near) :: I was born in 1985 in Cape Town. :: I was born to run.
  origin :: (?:{be}|comes?|came|hails?) from <origin> :: I'm from Galway. :: I'm from the future.
  origin :: (?:grew up|{was} raised|spent my childhood) (?:in|on|near|outside|by) :: I grew up in Texas. :: I grew up fast.
  role :: {be} (?:half[- ]|part )?{nationality} :: I'm Polish. :: I'm in Polish class.
  status :: {be} (?:an? )?(?:{soft} )*{creed} :: I'm Catholic. :: I'm straight out of ideas. :: straight (?:out|up)
  language :: (?:speaks?|can speak|{be} fluent in|{be} a native speaker of) (?:\w+ ){0,2}?(?:\p{Lu}\w+|(?:engl|span|turk|pol|dan|finn|swed|ir)ish|german|french|arabic|hindi|dutch|greek) :: I speak Tagalog. :: I speak fluent sarcasm.
  home = home :: {live} (?:[\w',-]+ ){0,6}?(?:in|at|near|outside|around) <city> :: I live in Rome. :: I live in fear.
  home = home :: (?:{be}|{been}) (?:based|living|located|settled) (?:out of|in|near|at|just outside|outside) <city> :: I'm based in Oslo. :: I'm based on rules.
  home = lives with :: {live} (?:alone|on my own|by myself|with (?:me|us|(?:my|our|an?|two|three|her|his) \w+)) :: I live with two roommates. :: I live with regret.
  home :: {live} (?:in|on|near|outside|above|at) (?:an?|the|my) (?:[\w-]+ ){0,3}{dwelling} :: I live on a narrowboat. :: I live at the gym.
  home :: (?:rents?|owns?|shares?|bought) (?:an?|the|my|our|{number}) (?:[\w-]+ ){0,3}{dwelling} :: I rent a small flat near the park. :: I rent a car.
  change = home :: (?:{have} )?(?:moved|relocated|emigrated|immigrated)(?! (?:{det}|some|it|them|him|money)\b)(?: [\w',-]+){0,6}? to <city> :: I moved to Porto. :: I moved my savings to Revolut.
  work = working hours :: (?:{work}|{be} on shift) (?:\w+ )?from {clock} (?:to|till|until) {clock} :: I work from 8 to 4. :: I work from home.
  work = employer :: {work} (?:(?:for|at) )?an? (?:[\w-]+ ){0,3}{company}|(?:started|{be} starting|joined|{be} interning) (?:at |for )?an? (?:[\w-]+ ){0,3}{company} :: I work at a bakery. :: I joined a queue.
  work :: {work} {number} days (?:a|per) week|do(?:es)? the (?:early|late|night|day|morning|evening) shifts? :: I work four days a week. :: I do the dishes.
  change = employer :: (?:quit|left) (?:the|my) (?:[\w-]+ )?{company} :: I quit the bakery. :: I left the shop at noon. :: at (?:noon|\d)|early|late
  work = employer :: {work} (?:(?:part|full)[- ]time )?(?:at|for|with) <employer> as an? <occupation> :: I work at Siemens as an engineer. :: I work at night.
  work = job title :: {work} (?:(?:part|full)[- ]time |remotely |freelance )?as (?:an?|the) <occupation>(?: (?:at|for|with) <employer>)? :: I work as a nurse. :: I work as hard as anyone.
  work = employer :: (?:(?:{work}|{been}|started|{be} starting) (?:(?:part|full)[- ]time |remotely )?(?:at|for)|joined) <employer> :: I work for Equinor. :: I work for free.
  work :: {work} (?:from home|in (?:[a-z]+|\p{Lu}\p{L}+)|(?:at|for) (?:an?|the|my|our) \w+) :: I work in marketing. :: I work in my dreams. :: dreams|progress|on (?:it|that)|for (?:me|it)|together|out
  work :: {work} (?:\w+ )?(?:shifts|nights|remotely|part[- ]time|full[- ]time|weekends)|does not work on|do not work on :: I work nights. :: I work hard.
  work = employer :: {be} (?:self-employed|unemployed|retired|freelancing|between jobs|out of work|laid off) :: I'm between jobs. :: I'm between meetings.
  change = employer :: (?:{was}|got|{been}) (?:laid off|fired|made redundant|let go) :: I was laid off. :: I was let down.
  work :: (?:runs?|owns?|manages?|leads?|founded|co-founded|started|opened|{have}) (?:my own|our own|her own|his own|an?|the) (?:[\w-]+ ){0,3}{company} :: I run a small bakery in Lyon. :: I run a fever.
  work :: (?:teach|teaches|taught|coach|coaches|tutors?) (?!(?:me|you|us|myself|him|her|them)\b)\w+ :: I teach maths at a school. :: I teach myself.
  work = employer :: (?:got|landed|accepted|started|{be} starting|took|{have}) (?:an?|my|the) (?:[\w-]+ ){0,2}(?:job|position|promotion|internship|apprenticeship) (?:at|as|with|in) :: I got a job at Netflix. :: I got a great job done.
  work :: {be} (?:in|on|part of) (?:an?|the) (?:[\w-]+ ){1,3}(?:team|department|crew|ward) :: I'm in the MRI team. :: I'm in the same boat.
  work = employment :: {be} on (?:maternity|paternity|parental|sick) leave|(?:{was}|got|{been}) (?:promoted|hired) :: I'm on parental leave. :: I was on time.
  change = employer :: (?:quit|left|resigned from|{have} (?:quit|left)|lost) (?:my|our|her|his|the) (?:[\w-]+ ){0,2}(?:job|position|role|company|firm) :: I quit my job at Amazon. :: I left my keys at work.
  change = employer :: (?:no longer works?|(?:do|does) not work) (?:at|for|with) [\w ]+ :: I no longer work at Google. :: I do not work out.
  change = employer :: (?:{have} )?(?:retired|resigned)(?: (?:in|from|last|on|as|at|early)\b.*)?$ :: I retired in 2021. :: I retired to bed.
  habit :: (?:study|studies) (?:\w+ )?from {clock} (?:to|till|until) {clock} :: I usually study from 9 till 1. :: I study from home.
  study = study :: (?:study|studies|{be} studying|{been} studying|majors?|{be} majoring|majored) (?:in )?(?!(?:hard|for|more|at night|together)\b)\w+ :: I study law at Leiden. :: I study hard.
  study :: (?:studied|graduated|{have} graduated|dropped out|majored) (?:from|in|at|of) \w+ :: I graduated from MIT in 2015. :: I graduated last week.
  study = study :: {be} (?:doing|pursuing|working on|finishing) (?:an?|my|her|his) (?:[\w-]+ ){0,2}{degree} :: I'm doing a PhD in physics. :: I'm doing my best.
  study :: (?:{have}|got|earned|finished|completed) (?:an?|my|her|his) (?:[\w-]+ ){0,3}{degree} (?:in|from|at) :: I have a degree in law. :: I have a degree of doubt.
  study :: {be} in (?:(?:my|her|his) )?(?:first|second|third|fourth|final|last|senior|junior|freshman) year|{be} in (?:year|grade|class) \d+ :: I'm in my final year at Oxford. :: I'm in my final week.
  study :: (?:goes|go|went|{be} going|got|got accepted|was accepted|attends?|attended|{be} enrolled|{be}) (?:to |at |into |in )?(?:[\w'-]+ ){0,3}{school} :: My son is in college. :: I go to bed.
  study :: (?:take(?:s|n)?|{be} taking) (?:[\w-]+ ){0,3}(?:class(?:es)?|lessons?|courses?) :: I take piano lessons. :: I take notes in meetings.
  status = relationship :: (?:{be}|got|{been}|{be} getting) (?:{soft} )*{status} :: I'm married to Helen. :: I'm single-minded. :: single-|dating app|engaged (?:in|with)|married to (?:my|the|our)
  status = relationship :: (?:broke up|split up)(?: with| in| last|$)|tied the knot|eloped|{been} (?:together|dating) (?:for|since) :: I broke up with my boyfriend. :: I broke up the fight.
  family :: (?:{have}|(?:do|does) not have|{be} expecting|{be} raising|adopted|lost) (?:an?|any|my|our|no|{number}|her|his) (?:[\w-]+ ){0,3}{kin} :: We have two kids, Tom and Lucy. :: I have a sister company. :: company|(?:dream|love|look)\b|\b(?:kids?|children|boys?|girls?) (?:to|in (?:my|our|the))\b
  family :: (?:{have}|{have} had|got|owns?|keeps?|adopted|{have} adopted|rescued|fosters?|(?:do|does) not have) (?:an?|any|my|our|no|{number}) (?:[\w-]+ ){0,3}{pet} :: I have a cat named Luna. :: I have a bird's-eye view. :: view|nap|walk|love|dream|photo|picture|video
  family of pets :: {be} an? (?:[\w-]+ ){0,2}{pet} :: My dog Bella is a beagle. :: My dog Bella is a joy.
  family :: {be} (?:an?|the|now an?) (?:proud |single |new |working |stay-at-home )*{parent}(?: (?:of|to)|[,.]|$) :: I am a mother of three. :: I'm a father figure.
  family :: (?:died|passed away)(?= (?:in|last|when|of|from|on|\w+ (?:years|months|weeks) ago)|$) :: My dad passed away in 2020. :: My dad died laughing.
  health :: had an? (?:[\w-]+ ){0,2}{operation} :: I had a bypass in November 2024. :: I had a good laugh.
  health :: (?:{be}|{been}|{was}|became) (?:{soft} )*allergic to (?!(?:\w+ )?{noAllergen}\b)\w+ :: I'm allergic to cats. :: I'm allergic to Mondays.
  health :: (?:{be}|{been}|{was}|became) (?:{soft} )*{condition} :: I'm lactose intolerant. :: I'm deaf to that. :: deaf to|blind to|celiac's
  health :: (?:{have}|had|got|{was} diagnosed with|{been} diagnosed with|suffers? from|struggles? with|recovered from|{be} recovering from) (?:[\w-]+ ){0,3}?{illness} :: I have type 2 diabetes. :: I have a pain in the neck.
  health :: (?:takes?|{be} taking|{be} on|{was} prescribed|{been} prescribed) (?:[\w-]+ ){0,3}?(?:\d+ ?(?:mg|mcg|ml|iu|units)|{medicine}) :: I take 50 mg of sertraline every morning. :: I take 50 minutes.
  health :: (?:broke|sprained|tore|fractured|injured|twisted|dislocated) (?:my|her|his) (?:[\w-]+ )?(?:leg|arm|ankle|knee|wrist|foot|toe|finger|hip|back|shoulder|collarbone|nose|rib|ribs|acl) :: I broke my leg skiing. :: I broke my phone.
  health :: wears? (?:glasses|contacts|contact lenses|(?:a )?hearing aids?|braces|dentures) :: I wear glasses. :: I wear black.
  health :: (?:do|does) not smoke|smokes?$|(?:quit|stopped|gave up|{have} (?:quit|stopped|given up)) (?:smoking|drinking|alcohol|sugar|meat|coffee|caffeine) :: I quit smoking. :: I quit smoking for two days. :: for \w+ (?:days?|weeks?|hours?)
  diet = diet :: (?:{be}|went|{been}|became|turned|eats?|follows?|keeps?|{be} on|{be} following|{have} gone) (?:{soft} )*(?:an? |the )?(?:{soft} )*{diet} :: I'm on a keto diet. :: I'm a vegetarian between meals. :: between|for an? (?:day|week|month|year)|this (?:week|month)
  diet :: (?:{not} (?:eat|eats|drink|drinks|have|touch|tolerate)|avoids?|only (?:drinks?|eats?)|{be} off) {food}|{not} (?:eat|eats|drink|drinks) [a-z]+$ :: I don't eat pork. :: I don't eat out. :: (?:eat|drink) (?:out|much|here|lunch|dinner|breakfast|together|anything|enough|well|alone|properly|a lot)
  health :: (?:{be} (?:scared|afraid|terrified|frightened)|{have} a (?:\w+ )?(?:fear|phobia)) of (?!(?:what|how|losing|missing|failing|not|being)\b)\w+ :: I'm scared of spiders. :: I'm scared of failing.
  past :: {have} never (?:been (?:to|on|in) (?:an? )?|tried |seen |owned |driven |eaten |broken |learned |smoked )\w+ :: I've never been on a sleeper train. :: I've never been so happy.
  plain :: {have} no {token}|(?:do|does) not (?:even )?(?:have|own) (?:an?|any) {token}|can not (?:ride|drive) an? \w+ :: I don't have a car. :: I don't have a clue.
  possession :: {have} (?:an?|my own|our own|{number}) (?:[\w-]+ ){0,2}{place}\b :: We have a plot at the community garden. :: I have a place in mind. :: in mind
  change :: {be} moving to <city> :: I'm moving to Amsterdam. :: I'm moving to the sofa.
  past :: used to (?!(?:it|that|this|the|be|have|think|feel|say)\b)\w+ \w+ :: I used to live in Paris. :: I used to it.
  past :: (?:{have}|had) (?:(?:already|only|also) )?been to <city>|{have} never been to <city> :: I have been to Japan twice. :: I have been to hell and back.
  past :: lived (?:in|on|near|abroad)|served (?:in|as|on)|volunteered (?:in|at|for|with) (?:an?|the|my|our|\p{Lu}\w+) :: I lived in Spain for three years. :: I lived it up.
  plain :: {been} (?:an?|[\w-]+ing) .*(?:for {number} {span}|for an? (?:year|month|week|decade)|since (?:\d|\p{Lu}|childhood|college|school)) :: I've been driving trams for ten years. :: I've been waiting for two hours.
  possession :: (?:drives?|rides?) (?:an?|my|our|the) \w+ :: I drive a Tesla Model 3. :: I drive a hard bargain. :: hard bargain|home|crazy|bus|train|\w+ (?:crazy|mad|nuts)
  possession :: (?:collects?|inherited|restores?|breeds?) (?!(?:me|him|her|data|information|my thoughts|myself)\b)\w+ :: I collect vinyl records. :: I collect my thoughts.
  possession :: owns? (?:an?|{number}|several|my|our) \w+ :: I own two bikes and a boat. :: I own my mistakes. :: mistakes?|feelings
  possession :: (?:{have} )?(?:bought|purchased|sold|adopted|ordered|built|acquired) (?:an?|my|our|two|three) (?:[\w-]+ ){0,3}\w+ :: I bought a new bike. :: I bought a round. :: ticket|round|story|few|lot|some|bunch|drinks?\b
  skill :: (?:plays?|played|can play|{be} learning) (?:the |on the )?(?:[\w-]+ )?(?:{instrument}|{sport}) :: I play the guitar. :: I play the fool.
  skill :: (?:do|does|did|{be} doing|practi[cs]es?|teach|teaches) {practice} :: I do yoga. :: I do my best.
  skill :: {be} (?:{soft} )*(?:good|great|bad|terrible) at \w+|(?:do|does) not know how to \w+|knows? how to \w+|can not (?:swim|drive|cook|ride|sing) :: I'm good at chess. :: I'm good at last. :: at (?:it|that|this|last|all)
  skill :: (?:codes?|programs?) (?:mostly |mainly )?in \w+|(?:writes?|paints?|draws?|knits?|sews?|brews?|bakes?|grows?) (?!(?:on|up|to|off|down|out|about|you|and|with)\b)[\w-]+(?: [\w-]+){0,3}$ :: I write fantasy novels. :: I write to you.
  undertaking :: (?:{be}|{been}|started|began|{have} started|took up|{have} taken up) (?:{soft} )*{undertaking} (?:an?|the|my|our|for|{det})? ?\w+ :: I'm learning Japanese. :: I'm working on it. :: writing (?:\w+ ){1,3}down|working on (?:an?|the|my) (?:\w+ )?(?:project|thing)s?$|learning an? (?:ton|lot)|working on (?:it|this|that|my(?:self)?|building|getting|being)|ever since|as usual|to help make
  study :: (?:learned|learnt|taught (?:myself|himself|herself)) (?:to \w+|\p{Lu}\w+|how to \w+) :: I taught myself to sew. :: I learned a lot.
  habit :: {have} (?:an? |the )?(?:[\w-]+ ){1,2}{often} :: I have therapy every Tuesday. :: I have no idea.
  habit :: {activity}\b.* {often} :: I swim every morning. :: I think about it every day.
  habit = wake time :: (?:gets?|wakes?|{be}) up (?:every day |most days )?(?:around |at )(?:about |around )?{clock} :: I wake up at 6am. :: I wake up at random.
  habit :: commutes? by|(?:commutes?|bikes?|cycles?|walks?) to (?:work|school|uni|the office)|takes? the (?:[\w-]+ )?(?:bus|train|tram|metro|subway|ferry|tube) :: I commute by train. :: I walk by the sea.
  habit :: (?:watch|watches|reads?|listens? to|follows?|supports?|uses?) (?:(?:a lot of|lots of|mostly|mainly) [\w-]+|\p{Lu}[\w-]+)(?: [\w-]+){0,3}$ :: I support Liverpool. :: I read minds.
  habit :: drinks? (?!(?:it|a|an|some|too|much|more|enough|the|my|up|to|and)\b)[\w-]+(?: [\w-]+)?$ :: I drink oat milk. :: I drink too much.
  change :: (?:got|received) an? (?:\w+ )?promotion :: I got a promotion. :: I got a promotion email. :: email|code|mail
  past :: met (?:my|our) (?:husband|wife|partner|girlfriend|boyfriend|fiancée?|best friend) (?:in|at|on|through|when|while) :: I met my wife in college. :: I met my deadline.
  habit :: belongs? to an? {club}|{be} (?:a )?(?:member|part) of (?:an?|the) {club}|volunteers? (?:at|for|with) \w+ :: I belong to a book club. :: I belong to a good group of friends.
  change :: switched from [\w ]+ to \w+ :: I switched from Windows to Linux. :: I switched from one side.
  change = home :: (?:no longer lives?|(?:do|does) not live) (?:in|at|near) <city> :: I no longer live in Oslo. :: I no longer live here.
  change :: (?:no longer|{be} no longer|(?:do|does|{be}) not) {given}\b.* :: I no longer eat meat. :: I no longer know. :: like (?:it|that|this)|work out|play around|works$
  change :: (?:{have} )?(?:stopped|gave up|given up) (?:\w+ing|[a-z]+) :: I stopped dancing. :: I stopped by. :: stopped (?:by|at|in|for|being|to)|gave up (?:on|everything|a)
  role :: {be} (?:not )?an? {character}|{be} the (?:oldest|youngest|eldest|middle child) :: I'm an only child. :: I'm a joke.
  role = job title :: (?:{be}|{was}|became|{been}) (?:not )?(?:an?|the) (?:[\p{L}\d-]+ ){0,4}?{tradeEnd} :: I'm a dentist from Brno. :: I'm a mess.
`)

export const factForms: ReadonlyArray<FactForm> = rows.map(
  ([head = "", says = "", example = "", counterexample = "", unless]) => {
    const [rule, attribute] = head.replace(" of pets", "").split(" = ")
    const isOfPets = head.endsWith(" of pets")
    return { rule: rule as RuleName, attribute, says, example, counterexample, unless, isOfPets }
  }
)
