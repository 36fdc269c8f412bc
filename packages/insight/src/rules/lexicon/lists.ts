/**
 * Word lists of the patterns by name, and values in angle brackets (Pattern.ts); entries are separated by commas and
 * may use `?` and groups.
 */
import { weekdayNames } from "@muniment/language/calendar/CalendarWords"

const list = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((entry) => entry.replace(/\s+/g, " ").trim())
    .filter((entry) => entry !== "")

export const lists: Readonly<Record<string, ReadonlyArray<string>>> = {
  be: list("am, is, are"),
  was: list("was, were"),
  been: list("have been, has been"),
  have: list("have, has, have got, has got"),
  not: list("do not, does not, did not, am not, is not, are not, no longer, never, can not, could not"),
  soft: list(`also, really, absolutely, actually, definitely, probably, especially, particularly, currently, now, still,
    just, recently, finally, mostly, mainly, only, always, usually, originally, already, happily, very, quite, pretty, so,
    totally, truly, severely, deathly, highly, mildly, badly, slightly, strictly, newly, legally, much, not, never, no longer, a bit`),
  big: list("big, huge, massive, great, lifelong, long-time"),
  det: list("a, an, the, my, our, her, his, their"),
  number: list(`one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen,
    sixteen, seventeen, eighteen, nineteen, (?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ]\\w+)?, \\d\\d?\\d?`),
  given: list(
    "likes?, eats?, drinks?, lives?, works?, plays?, uses?, smokes?, drives?, takes?, owns?, sees?, runs?, dates?, vegan, vegetarian, married, single"
  ),
  club: ["(?:[\\w-]+ )?(?:club|band|team|choir|church|union|society|orchestra)"],
  clock: [
    "(?:(?:half|quarter) (?:past |to )?)?(?:\\d{1,2}(?:[:.]\\d\\d)?(?: ?[ap]\\.?m\\.?)?|five|six|seven|eight|nine|ten|eleven|noon|midnight)"
  ],
  token: list(
    "car, licen[cs]e, driving licen[cs]e, driver's licen[cs]e, kids, children, pets?, siblings, bike, tv, television, smartphone, passport, dishwasher, garden, balcony"
  ),
  operation: list(
    "bypass, knee replacement, hip replacement, stroke, heart attack, c-section, transplant, miscarriage, concussion, operation, hysterectomy"
  ),
  place: list(
    "plot, allotment, house, garden, balcony, cabin, cottage, holiday home, houseboat, caravan, boat, studio, workshop, farm, car, van, truck, bike, e-bike, motorbike, motorcycle, scooter, piano, Volvo, Tesla, Honda, Toyota, Subaru"
  ),
  dwelling:
    list(`flat, house, apartment, home, cottage, studio, room, condo, farm, village, town, city, suburbs?, countryside,
    country, [a-z]*boat, dorm, caravan, basement, attic, bungalow, loft, island, coast, street, building, duplex`),
  span: list("years?, months?, weeks?, decades?"),
  often: list(`every day, every morning, every night, every evening, every week, every month, every year, every weekend,
    every summer, every winter, every other day, each day, each morning, each night, each week, daily, weekly, once a week,
    twice a week, twice a day, three times a week, before work, after work, before bed, on weekends, on weekdays,
    in the mornings?, in the evenings?, (?:on |every )(?:${weekdayNames.join("|")})s?`),
  live: list(`live, lives, reside, resides, am living, is living, are living, have lived, has lived, have been living,
    has been living, am staying, is staying, stay, stays`),
  work: list(`work, works, worked, am working, is working, have worked, has worked, have been working, has been working,
    am employed, is employed, started working, am interning, freelance, freelances`),
  company: list(`business, company, startup, start-up, shop, store, bakery, restaurant, cafe, café, studio, farm, team,
    department, agency, practice, bookshop, bookstore, salon, brewery, firm, clinic, podcast, blog, channel, newsletter,
    food truck, charity, nonprofit, school, gym`),
  school:
    list(`school, high school, college, university, uni, kindergarten, preschool, nursery, law school, medical school,
    grad school, night school, community college, middle school, primary school, elementary school`),
  degree: list("degree, phd, PhD, master's, masters, bachelor's, mba, MBA, diploma, doctorate, thesis, apprenticeship"),
  noAllergen: list(
    "mornings?, mondays?, Mondays?, people, work, exercise, drama, nonsense, effort, commitment, fun, money, change, \\\\w+ing"
  ),
  illness:
    list(`allerg\\w+, asthma, diabetes, adhd, ADHD, autism, anxiety, depression, migraines?, celiac, coeliac, arthritis,
    epilepsy, hypertension, high blood pressure, insomnia, eczema, psoriasis, ibs, IBS, crohn's, Crohn's, cancer, dyslexia,
    scoliosis, sciatica, back pain, back problems?, bad back, bad knees?, intolerance, heart condition, hay fever,
    tinnitus, sleep apnea, vertigo, endometriosis, hypothyroidism, anemia, astigmatism, ocd, OCD, ptsd, PTSD, lupus, gout, dementia,
    surgery, chronic \\w+, hearing loss, a pacemaker, heart attack, stroke`),
  medicine:
    list(`insulin, antidepressants, metformin, blood thinners, statins, [a-z]+pril, [a-z]+statin, [a-z]+oxetine, [a-z]+traline,
    [a-z]+thyroxine, [a-z]+prazole`),
  condition: list(`lactose intolerant, diabetic, asthmatic, colou?r-?blind, deaf, blind, dyslexic,
    autistic, epileptic, left-handed, right-handed, anemic, near-?sighted, short-?sighted, hard of hearing, celiac, coeliac,
    in remission, sober, in recovery, in a wheelchair, pregnant, on insulin, on medication, on antidepressants, in rehab,
    in hospital, in the hospital, in a care home, bilingual, ambidextrous`),
  diet: list(`vegan, vegetarian, pescatarian, pescetarian, flexitarian, gluten-free, gluten free, dairy-free, keto,
    ketogenic, paleo, halal, kosher, low-carb, plant-based, intermittent fasting, mediterranean, low-sodium, carnivore`),
  food: list(`meat, red meat, pork, beef, fish, seafood, shellfish, dairy, gluten, eggs?, nuts?, peanuts?, sugar, wheat, soy, lactose,
    milk, alcohol, coffee, caffeine, tea, soda, wine, beer, spicy food, fast food, junk food, sweets, mushrooms, cilantro,
    onions, garlic, cheese, bread, chocolate, processed food, prawns, lamb, chicken, decaf`),
  kin: list(`sisters?, brothers?, siblings?, kids?, child, children, sons?, daughters?, twins?, babies, baby, wife, husband,
    girlfriend, boyfriend, partner, fiancée?, cousins?, grandkids, grandchildren, grandson, granddaughter, stepkids, stepson,
    stepdaughter, nieces?, nephews?, roommates?, housemates?, flatmates?`),
  pet: list(`dogs?, cats?, pupp(?:y|ies), kittens?, hamsters?, parrots?, rabbits?, bunn(?:y|ies), horses?, turtles?, tortoises?,
    snakes?, birds?, chickens?, pets?, retrievers?, labradors?, poodles?, beagles?, corgis?, terriers?, goldfish, gecko,
    ferrets?, budgies?, guinea pigs?, pup, pups, kitty, lizards?, ponies, pony, huskies, husky, bees`),
  parent:
    list(`mother, father, mom, mum, dad, parent, grandmother, grandfather, aunt, uncle, grandparent, godmother, godfather,
    stepmother, stepfather, guardian, twin, triplet, widow, widower`),
  status: list(`married, single, divorced, engaged, widowed, separated, dating, in a relationship, getting married,
    getting divorced`),
  creed:
    list(`non-binary, nonbinary, gay, lesbian, bisexual, queer, trans, transgender, straight, asexual, christian, Christian,
    catholic, Catholic, muslim, Muslim, jewish, Jewish, hindu, Hindu, buddhist, Buddhist, atheist, agnostic, Protestant,
    Mormon, Sikh, Quaker`),
  nationality:
    list(`American, British, English, Scottish, Irish, Welsh, Canadian, Australian, German, French, Spanish, Italian,
    Portuguese, Dutch, Belgian, Swiss, Austrian, Polish, Czech, Russian, Ukrainian, Greek, Turkish, Swedish, Norwegian,
    Danish, Finnish, Icelandic, Japanese, Chinese, Korean, Indian, Pakistani, Vietnamese, Thai, Filipino, Indonesian,
    Malaysian, Mexican, Brazilian, Argentinian, Colombian, Chilean, Peruvian, Nigerian, Kenyan, Ghanaian, Egyptian, Moroccan,
    South African, Ethiopian, Iranian, Persian, Israeli, Lebanese, Hungarian, Romanian, Bulgarian, Croatian, Serbian,
    Estonian, Latvian, Lithuanian, Cuban, Jamaican, Kiwi`),
  character: list(`morning person, night owl, early bird, only child, orphan,
    introvert, extrovert, perfectionist, dog person, cat person, people person, homebody, smoker, non-smoker, veteran,
    immigrant, refugee, native speaker, minimalist, lefty`),
  instrument:
    list(`guitar, piano, violin, viola, cello, bass, drums?, trumpet, trombone, saxophone, sax, clarinet, flute, oboe,
    harp, banjo, ukulele, accordion, keyboard, organ, harmonica, mandolin, sitar, tabla, bagpipes`),
  sport:
    list(`football, soccer, tennis, basketball, volleyball, baseball, hockey, rugby, cricket, golf, badminton, squash, padel,
    chess, poker, bridge, darts, bowls, table tennis, ping pong, water polo, lacrosse, handball, softball, netball, bingo,
    Dungeons (?:&|and) Dragons, D&D, video games, board games`),
  practice:
    list(`yoga, pilates, crossfit, karate, judo, aikido, taekwondo, kickboxing, boxing, photography, pottery, ceramics,
    woodworking, tai chi, ballet, gymnastics, calligraphy, improv, stand-up, freelance work, martial arts`),
  activity:
    list(`run, runs, jog, jogs, swim, swims, cycle, cycles, bike, bikes, walk, walks, hike, hikes, meditate, meditates,
    journal, journals, work out, works out, read, reads, watch, watches, drink, drinks, eat, eats, listen to, listens to,
    cook, cooks, bake, bakes, play, plays, practi[cs]es?, train, trains, dance, dances, sing, sings, go, goes, take, takes, do, does,
    visit, visits, call, calls, volunteer, volunteers, tutor, tutors, commute, commutes, use, uses, surf, surfs`),
  undertaking:
    list(`learning, studying, training for, training to be, writing, building, developing, designing, renovating, restoring,
    remodeling, volunteering, teaching, coaching, fostering, homeschooling, rehearsing, recording, saving for, saving up for,
    researching, applying for, applying to, preparing for, practi[cs]ing, organi[sz]ing, knitting, painting, reading, raising,
    working on`),
  fan: list(`fan of, lover of, into, keen on, fond of, obsessed with, crazy about, mad about, passionate about, addicted to,
    hooked on, in love with, partial to, interested in, a sucker for, sucker for, fascinated by, enthusiastic about, all about,
    big on, drawn to, devoted to, wild about, nuts about`),
  like: list(`love, loves, loved, adore, adores, adored, like, likes, liked, enjoy, enjoys, enjoyed, fancy, fancies`),
  dislike: list(`hate, hates, hated, dislike, dislikes, disliked, despise, despises, detest, detests, loathe, loathes`),
  tradeEnd:
    list(`[a-z-]+er, [a-z-]+or, [a-z-]+ist, [a-z-]+ian, [a-z-]+eer, [a-z]+ect, [a-z]+yst, [a-z-]+ant, nurse, chef, student,
    clerk, pilot, coach, judge, vet, cook, midwife, surgeon, mechanic, lawyer, doctor, CEO, CTO, barista, secretary, executive,
    representative, sister, accountant, fireman, policeman, intern, novelist, captain, stonemason,
    mason, paramedic, priest, rabbi, imam, pastor, soldier, athlete, principal, plumber, optician, analyst, technician`),
  oops: [
    "(?:actually|no|nope|oh|wait|sorry|oops|hm+|correction|scratch that|or rather|rather|well|and|but|so|also|my bad|update),? "
  ],
  theirs: ["(?:(?:the|my|our|her|his|this|that|\\p{Lu}\\p{Ll}+'s) )?"],
  drift: list(
    "is, are, was, were, has, have, had, got, gets, will, should, be, been, actually, now, also, just, rather, instead"
  ),
  at: list("in, at, on, to, for, from, with, called"),
  movedDate: list("moved, postponed, rescheduled, pushed back, pushed, brought forward, delayed, put off")
}

export const values: Readonly<Record<string, string>> = {
  noun: "(?!(?:it|that|this|they|I|we|there|which|not|too|back)\\b)[\\p{L}-]+(?: [\\p{L}-]+){0,3}?",
  was: "[\\p{L}\\d][\\p{L}\\d.'-]*(?: [\\p{L}\\d][\\p{L}\\d.'-]*){0,3}",
  now: "(?!(?:I|it|we|my|that|they|he|she|you)\\b)[\\p{L}\\d$€£](?:[\\p{L}\\d.'-]|,(?=\\d))*(?: [\\p{L}\\d][\\p{L}\\d.'-]*){0,3}",
  day: "[\\p{L}\\d][\\p{L}\\d', -]{2,40}",
  city: "(?:the )?\\p{Lu}[\\p{L}.'-]*(?:,? (?:\\p{Lu}|de |do |of |on |la )[\\p{L}.'-]*){0,3}",
  origin: "(?:the )?\\p{Lu}[\\p{L}.'-]*(?:,? (?:\\p{Lu}|de |do |of |on |la )[\\p{L}.'-]*){0,3}",
  employer: "(?:the )?\\p{Lu}[\\w&.'-]*(?: (?:of |and |& )?\\p{Lu}[\\w&.'-]*){0,4}",
  occupation: "[a-z][\\w /-]*?(?= (?:at|for|in|with|on|since|from|by|who|where|of|and|near|these)\\b|[,.;]|$)",
  thing:
    "(?!(?:[Ii]t|[Tt]hat|[Tt]his|[Hh]e|[Ss]he|[Tt]hey|[Yy]ou|which|[Ww]hat|I|[Ww]e|[Tt]here|one)\\b)(?:[\\p{L}-]+ ){0,2}[\\p{L}-]+",
  age: "(?!1[3-9]\\d|[2-9]\\d\\d){number}(?=(?: years?| yrs?| and| now| today| on| in| this| next| last|[,.;]|$))"
}
