/** What is claimed without a model: what the one asked about said of themselves, or others of them by name, and no more. */
import { describe, expect, it } from "vitest"
import { clausesOf } from "@muniment/language/speech/Clause"
import { extractiveAnswer } from "@muniment/insight/answers/ExtractiveAnswers"
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"

type Said = string | { readonly name: string; readonly text: string }

/** Messages of one conversation; all of one moment, so that only their order tells which is later. */
const chat = (...said: ReadonlyArray<Said>): ReadonlyArray<Evidence> =>
  said.map((one, position) => ({
    id: `m${position}`,
    kind: "conversation_message",
    data: { role: "user", sentAt: "2026-01-30T18:00:00+01:00", ...(typeof one === "string" ? { text: one } : one) },
    turn: { conversation: "c", position },
    owner: "o",
    createdAt: 0,
    relevance: 0.4 - position / 10
  }))

const answered = (question: string, ...said: ReadonlyArray<Said>) => extractiveAnswer(question, chat(...said))
const nothing = (question: string, ...said: ReadonlyArray<Said>) =>
  expect(answered(question, ...said).answer, `${question} ${JSON.stringify(said)}`).toBe(
    "I have no memory that answers this."
  )

describe("of a person of whom nothing is known nothing is claimed", () => {
  it.each([
    ["Do I play the cello?", "My flatmate plays the cello in an orchestra."],
    ["Where was I born?", "My grandfather was born in Trieste."],
    ["Am I diabetic?", "Her husband is diabetic."],
    ["Am I allergic to penicillin?", "Tariq is allergic to penicillin, so we told the nurse."],
    ["Where do I commute from?", "My boss Ines commutes from Girona every day."],
    ["Am I vegan?", "We visited my parents, who are vegan now."],
    ["Do I smoke?", "Everyone in my office smokes."],
    ["Where do I live?", "My aunt lives in Perth and my uncle in Cairns."],
    ["Who do I work for?", "I met a man on the train who works for Siemens."],
    ["When am I getting married?", "My cousin Lotte is getting married in June."],
    ["How old am I?", "My daughter turned nine on Sunday."],
    ["Do I drink wine?", "Hardly anybody in my family drinks wine."],
    ["Does my sister hate coriander?", "Unlike my sister, I can't stand coriander."],
    ["Does Wim work from home on Fridays?", "Unlike Wim I work from home on Fridays."],
    ["Does my brother drink?", "Unlike my brother, I don't drink."],
    ["Can Ada swim?", { name: "Ada", text: "Bo told me he can't swim." }],
    ["Does Bob live in Oslo?", { name: "Ada", text: "I live in Oslo." }],
    ["Where do I work?", "Kim now works at Shell."],
    ["When did I get married?", "Anna got married in May 2025."],
    ["What did I buy?", "Anna bought two cars."],
    ["What did I sell?", "kim sold two boats"],
    ["Where did I win gold?", "Kim won gold in Oslo."],
    ["Where do I live?", "kim still lives in bonn"],
    ["Where do I live?", "About Kim: lives in Bonn, works at Telekom."],
    ["Do I like jazz?", "New colleague: Kim. Likes jazz, hates rain."],
    ["Do I play tennis?", "The kids play tennis on Mondays."],
    ["Where am I from?", "Sold my bike to a guy from Kiel."],
    ["Where was I born?", "My firm was founded in Bern in 1980, I was twelve."],
    ["Where does Tom work?", "Tom's brother works at Shell."],
    ["What is Anna allergic to?", "Anna's dog is allergic to beef."],
    ["Where does Lena live?", "Lena's mother moved to Ghent."],
    ["Where is Kim from?", "Kim's boss Jo is from Malta."],
    ["Does Kim drive a Golf?", "Kim's brother-in-law drives a Golf."],
    ["What is my name?", "My landlord's name is Otto and his phone number is 555-1234."],
    ["What is my name?", "The name of my landlord is Otto."],
    ["What is my password?", "The password of my sister's wifi is hunter2."],
    ["What is my favourite food?", "My wife's favourite food is sushi."],
    ["What is my son called?", "My sister has a son. He is called Max."],
    ["Where does Sam live?", "My brother visited Sam. He lives in Kiel."],
    ["Am I a vegetarian?", "Adaeze came with her new fella, Marcus, he's vegetarian so he got the plate."]
  ] as const)("%s %s", (question, said) => nothing(question, said))
})

it("of a reply to another question nothing is claimed", () => {
  const asked = { name: "Ben", text: "How long has he played it?" }
  const { answer } = answered(
    "Who plays the zephyrbassoon?",
    "My brother plays the zephyrbassoon.",
    asked,
    "Since the spring of 2020."
  )
  expect(answer).toContain("My brother plays the zephyrbassoon.")
})

describe("of the one who is asked about it is", () => {
  it.each([
    ["Am I allergic to strawberries?", "I'm allergic to strawberries.", "Yes."],
    ["Do I eat shellfish?", "I never eat shellfish.", "No."],
    ["Do I need a permit?", "I do not need a permit.", "No."],
    ["Is Tariq allergic to penicillin?", "Tariq is allergic to penicillin, so we told the nurse.", "Yes."],
    ["Have I been to Japan?", "I have never been to Japan.", "No."],
    ["Am I a fan of karaoke?", "I am no fan of karaoke.", "No."],
    ["Do I have pets?", "I have no pets.", "No."],
    ["Do I eat beef?", "I eat neither beef nor lamb.", "No."],
    ["What is my daughter allergic to?", "My daughter is allergic to peanuts.", "peanuts"],
    ["Where do I live?", "I live in Aarhus, near the harbour.", "Aarhus"],
    ["How much is my rent?", "We pay 940 a month in rent.", "940"],
    ["Why did I start learning Polish?", "I started learning Polish because my wife is from Gdansk.", "Gdansk"],
    ["What did I sell?", "Sold two boats on Monday.", "two boats"],
    ["What did I buy?", "finally bought a drum kit", "drum kit"],
    ["Where does Tom's brother work?", "Tom's brother works at Shell.", "Shell"],
    ["Where am I from?", "I'm from Kiel, near the sea.", "Kiel"],
    ["Where was I born?", "I was born and raised in Kiel.", "Kiel"],
    ["Where is Jo from?", "Kim's boss Jo is from Malta.", "Malta"],
    ["What is Tom allergic to?", "Tom's allergic to nuts and has asthma.", "nuts"],
    ["What is my landlord's name?", "My landlord's name is Otto.", "Otto"],
    ["What is the password of my sister's wifi?", "The password of my sister's wifi is hunter2.", "hunter2"],
    ["Where does my brother live?", "My brother moved. He lives in Kiel now.", "Kiel"],
    ["What is my locker number?", "My locker number is 214.", "214"]
  ] as const)("%s %s", (question, said, expected) => expect(answered(question, said).answer).toContain(expected))
})

it("that something changed is no value of it", () => {
  const { answer } = answered("What is my password?", "My password is hunter2.", "I changed my password.")
  expect(answer).not.toMatch(/hunter2|changed/)
})

describe("yes and no need the asked statement itself", () => {
  it.each([
    ["Do I like spiders?", "I don't mind spiders."],
    ["Do I like onions?", "I don't mind onions."],
    ["Do I dislike opera?", "It's not that I dislike opera, I just never have time."],
    ["Am I a morning person?", "I am anything but a morning person."],
    ["Do I like olives?", "I can't say I like olives."],
    ["Is Marta coming to the party?", "I don't think Marta is coming to the party."],
    ["Do I fly?", "I refuse to fly."],
    ["Do I have a garden?", "I wish I had a garden."],
    ["Do I have a kayak?", "I almost bought a kayak."],
    ["Am I allergic to dogs?", "I'm allergic to cats, not dogs."],
    ["Do I smoke?", "I used to smoke."],
    ["Do I have asthma?", "I am an asthma nurse."],
    ["Do I have a van?", "I sold the van."],
    ["Do I eat meat?", "I would eat meat if I had to."],
    ["Am I on crutches?", "I am off crutches since Monday."],
    ["Does Camila have twins?", { name: "Camila", text: "Twins is Nuria." }]
  ] as const)("%s %s", (question, said) => nothing(question, said))
})

describe("what stands in a frame is not claimed of its writer", () => {
  it.each([
    ["Where do I live?", "Write a short bio in my style: I am Lena. I live in Kiel. I teach biology."],
    ["What is my job?", "Proofread this: I work as a lifeguard in Rimini."],
    ["Where do I live?", "Here's the email I got:\n\nFrom: Paul\nI live in Derby and I own two ferrets."],
    ["What is my hobby?", 'My son wrote in his essay: "My hobby is archery."'],
    ["Where do I live?", "Paul: I live in Derby\nQuentin: I live in Leeds"],
    ["What is my name?", "Pretend you are me: my name is Gustav and I love sailing."],
    ["What is my favourite food?", "Translate to French: my favourite food is ramen"],
    ["How many hives do I have?", "Summarise the following. I am a beekeeper. I have forty hives."],
    ["Do I have diabetes?", 'He told me "I drove to Baghdad and I have diabetes". Everyone is a poet.']
  ])("%s %s", (question, said) => nothing(question, said))
})

describe("what was taken back or corrected later in the same moment", () => {
  it.each([
    ["What is my locker number?", "My locker number is 214.", "Sorry, 241 I mean."],
    ["Where do I live?", "I live in Malmö.", "Scrap that: Lund."],
    ["Where do I live?", "I live in Oslo.", "Correction: Bergen."],
    ["When is my birthday?", "My birthday is 3 May.", "Oops, it's 5 May."],
    ["Who is my dentist?", "My dentist is Dr Vance.", "Wait no, Dr Vale."],
    ["How many brothers do I have?", "I have two brothers.", "Actually three, I forgot my half-brother."],
    ["Am I allergic to nuts?", "I am allergic to nuts.", "It turns out I'm not allergic to nuts after all."],
    ["What band do I play in?", "I play bass in a band called Tarmac.", "Just kidding, I don't play in any band."],
    ["Do I like jazz?", "I like jazz.", "I don't like jazz any more."],
    ["Where do I work?", "I work at Initrode.", "They let me go on Monday."],
    ["Where do I work?", "I work at Initrode.", "I got laid off."],
    ["Do I have a cat?", "We have a cat named Miso.", "Miso died last week, we are heartbroken."],
    ["Where do I live?", "I live in Rome.", "That's wrong."],
    ["Where do I live?", "I live in Rome.", "Please delete that."],
    ["Where do I live?", "I live in Rome.", "Ignore what I said about Rome."],
    ["Do I live in Rome?", "I live in Rome.", "Psych! I don't."],
    ["Do I live in Rome?", "I live in Rome.", "haha no"],
    ["Where do I work?", "I work at Initrode.", "Resigned this morning."],
    ["Am I a teacher?", "I am a teacher.", "I was a teacher until last year."],
    ["Do I drive a Golf?", "I drive a Golf.", "My Golf got stolen."],
    ["What car do I drive?", "I drive a Golf.", "I totaled it on Monday."],
    ["Am I allergic to nuts?", "I'm allergic to nuts.", "I outgrew my nut allergy."],
    ["Where do I live?", "I live in Bergamo.", "We finally sold the flat and left Bergamo."]
  ] as const)("%s %s %s", (question, first, later) => {
    expect(answered(question, first).grounded).toBe(true)
    const { answer } = answered(question, first, later)
    expect(answer).not.toContain(first)
    expect(answer).not.toMatch(/^Yes/)
  })

  it.each([
    ["What is my favourite colour?", "My favourite colour is green.", "My favourite colour is blue.", "blue"],
    ["Where do I work?", "I work at Nokia.", "I now work at Ericsson.", "Ericsson"]
  ] as const)("%s is answered by the later: %s %s", (question, first, later, expected) => {
    const { answer } = answered(question, first, later)
    expect(answer).toContain(expected)
    expect(answer).not.toContain(first)
  })
})

describe("a date that is claimed", () => {
  it.each([
    ["When are we going sledging?", "We are going sledging next Saturday.", "7 February 2026"],
    ["When is my flight?", "My flight is the Monday after next.", "9 February 2026"],
    ["When did I get back from Crete?", "I got back from Crete a fortnight ago.", "the week of 12 January 2026"],
    ["When did I run my first 10k?", "I ran my first 10k the weekend before last.", "the weekend of 17 January 2026"]
  ])("%s %s", (question, said, day) => expect(answered(question, said).answer).toContain(`${day}. User`))

  it.each([
    ["When did our boiler break?", "Our boiler broke a few weeks ago."],
    ["When did I adopt a dog?", "I adopted a dog, he is lovely."],
    ["When did the pilot start?", "The pilot starts on 15 June with twelve nodes."]
  ])("is never the day of saying: %s %s", (question, said) => nothing(question, said))

  it("counts from the day in the offset of the message", () => {
    const [said] = chat("I have a blood test tomorrow.")
    const late = { ...said!, data: { ...said!.data, sentAt: "2024-05-01T20:30:00-07:00" } }
    expect(extractiveAnswer("When is my blood test?", [late]).answer).toMatch(/^2 May 2024\. User \(1 May 2024\)/)
  })
})

describe("a clause", () => {
  const subjects = (text: string) => clausesOf(text).map(({ isAsserted, subject }) => (isAsserted ? subject : "unsaid"))

  it.each([
    ["I live in Oslo, near the harbour.", ["speaker"]],
    ["sold the van", ["speaker"]],
    ["My flatmate plays the cello.", ["owned"]],
    ["Unlike my sister, I can't stand it.", ["owned", "speaker"]],
    ["My sister says she is moving, I stay here.", ["unsaid", "unsaid", "speaker"]],
    ["I think he is in Rome.", ["speaker", "unsaid"]],
    ["If I lived in Rome I would drive.", ["unsaid", "unsaid"]],
    ["Tariq called, so we left.", ["other", "speaker"]],
    ["last day was friday, I'm off to Kyoto", ["other", "speaker"]],
    ["In fact I move on the 15th of august", ["speaker"]],
    ["Is it far?", []]
  ])("of %s", (text, expected) => expect(subjects(text)).toEqual(expected))
})

const ana = (text: string): Said => ({ name: "Ana", text })
const ben = (text: string): Said => ({ name: "Ben", text })

describe("nothing is claimed of what is", () => {
  it.each([
    ["of some of somebody's", ["Am I allergic to latex?", "Some of my pupils are allergic to latex."]],
    ["of a person with an irregular verb", ["Am I vegan?", "Yesterday Tomas went vegan."]],
    ["of a person who gave word", ["Do I have a parrot?", "Inge told me she has a parrot."]],
    ["of a relative's relative", ["Where does my cousin live?", "My cousin's flatmate lives in Essen."]],
    ["a relative's", ["When is my audition?", "My niece's audition is on 4 May 2026."]],
    ["a relative's name", ["What's my name?", "My uncle's name is Otto."]],
    ["a friend's", ["What's my job?", "My mate got a job as a roofer."]],
    ["of another one by name", ["What is Ada allergic to?", { name: "Ada", text: "Bo's allergic to milk" }]],
    ["only intended", ["Where do I work?", "I applied to work at Lidl."]],
    ["only offered", ["When do we play in Gdynia?", "A festival in Gdynia wants us on 15 August."]],
    ["refused", ["What do I take for migraines?", "I refuse to take triptans for migraines."]],
    ["taken back", ["Where do I live?", "I live in Rome - not!"]],
    ["meant in irony", ["Where do I live?", "yeah sure, I live in Rome"]]
  ] as const)("%s: %s", (_, [question, ...said]) => nothing(question, ...said))

  it.each([
    ["over by notice", ["Where do I work?", "I work at Acme.", "I handed in my notice."]],
    ["over between two", ["Where do I work?", "I work at Acme.", "I'm between jobs."]],
    ["over with its firm", ["Where do I work?", "I work at Acme.", "Acme went bankrupt."]],
    ["over by a lease", ["Where do I live?", "I live in Oslo.", "Signed the lease in Bergen, bye Oslo!"]],
    ["over by a home", ["Where do I live?", "I live in Oslo.", "Bergen is home now."]],
    ["over by a contract", ["Where do I work?", "I work at Acme.", "My contract wasn't renewed."]],
    ["over by rest", ["Where do I work?", "I work at Acme.", "I'm retired now."]],
    ["over by another trade", ["What do I do for a living?", "I'm a baker.", "I've retrained as a nurse."]],
    ["over in another's words", ["Where does Ana work?", ana("I work at Acme."), ben("Ana left Acme.")]],
    ["counted anew", ["How many cats do I have?", "I have two cats.", "We adopted a third cat."]],
    ["gone", ["What car do I drive?", "I drive a Golf.", "The Skoda comes tomorrow, Golf's gone."]],
    ["another state", ["Am I single?", "I'm single.", "I have a girlfriend."]],
    ["another state by marriage", ["Am I single?", "I'm single.", "I got married last weekend."]],
    ["another diet", ["Am I vegan?", "I'm vegan.", "I eat meat again."]],
    ["a diet that excludes it", ["Do I eat meat?", "I eat meat.", "I'm vegan."]],
    ["taken up again", ["Am I a non-smoker?", "I'm a non-smoker.", "I am back on cigarettes again."]],
    ["over by birth", ["Am I pregnant?", "I'm pregnant.", "The baby was born."]],
    ["one more without its name", ["How many kids do I have?", "I have two kids.", "Our third was born."]],
    ["another one", ["How many cats do I have?", "I have two cats.", "We got another one."]],
    ["one more by birth", ["How many kids do I have?", "I have two kids.", "I gave birth on Friday."]],
    [
      "a number in no use",
      ["What is my phone number?", "My phone number is 555 0132.", "That number is no longer in use."]
    ],
    ["a number that is dead", ["What is my phone number?", "My phone number is 555 0132.", "That number is dead."]],
    ["an old number", ["What is my phone number?", "My phone number is 555 0132.", "Don't call the old number."]],
    ["an address in no use", ["What is my email?", "My email is a@b.example.", "That address is no longer in use."]],
    ["of a marriage that is over", ["Who is my husband?", "My husband is Gil.", "I'm divorced."]],
    ["another state of a named speaker", ["Is Ana single?", ana("I'm single."), ana("I have a boyfriend.")]],
    ["over by name", ["Where do I live?", "I live in Rome.", "Rome is history."]],
    ["over by a farewell", ["Where do I live?", "I live in Rome.", "Bye Rome!"]],
    ["cancelled", ["When is my flight?", "My flight is on 5 May 2026.", "flight's cancelled"]]
  ] as const)("%s: %s", (_, [question, ...said]) => nothing(question, ...said))

  it.each([
    ["How many kids do I have?", "I have two kids.", "My daughter started school."],
    ["How many cats do I have?", "I have two cats.", "We are on the third floor."],
    ["Where do I live?", "I live in Rome.", "Rome is lovely in May."]
  ])("but of what holds still: %s %s %s", (question, said, later) =>
    expect(answered(question, said, later).answer).toContain(said)
  )

  it("the newer message that the search finds nearer leaves a state open", () => {
    const [first, later] = chat("I'm a morning person.", "I never get up before noon these days.")
    const asked = (relevance: number) => extractiveAnswer("Am I a morning person?", [first!, { ...later!, relevance }])
    expect(asked(0.1).answer).toMatch(/^Yes/)
    expect(asked(0.6).grounded).toBe(false)
  })

  it("neither so nor not so is quoted without a yes or no", () => {
    expect(answered("Do I drink coffee?", "I don't drink coffee after noon.").answer).not.toMatch(/^(?:Yes|No)/)
    expect(answered("Do I smoke?", "I don't smoke unless I'm drunk.").answer).not.toMatch(/^(?:Yes|No)/)
    expect(answered("Am I pregnant?", "I'm not pregnant, just tired.").answer).toMatch(/^No/)
  })
})

describe("he and she are the one person they fit", () => {
  it.each([
    ["Is Bo vegan?", { name: "Ada", text: "I met Bo's wife, she is vegan" }],
    ["Where does Bo live?", { name: "Ada", text: "Bo's brother called, he lives in Bath" }],
    ["Where does my niece live?", "My niece has a boyfriend, he lives in Bath"],
    ["Is Bo vegan?", { name: "Ada", text: "Bo called. His wife is vegan." }],
    ["How old is my son?", "My son got a puppy from his friend. He is 3 years old."],
    ["What does my uncle do?", "My uncle has a girlfriend. She's a vet."]
  ] as const)("nothing is claimed: %s %s", (question, said) => nothing(question, said))

  it.each([
    ["What does my uncle do?", "My uncle called. He's a vet."],
    ["What does my niece do?", "My niece lives with my nephew, she's a vet."]
  ])("%s %s", (question, said) => expect(answered(question, said).grounded).toBe(true))
})

const fact = (subject: string, text: string, position = 9): Evidence => ({
  id: `f${position}`,
  kind: "factual_memory",
  data: { subject, fact: text },
  owner: "o",
  createdAt: position,
  relevance: 0.4
})

describe("a relative is claimed of whose relative it is", () => {
  const claimed = (question: string, ...evidence: ReadonlyArray<Evidence>) => extractiveAnswer(question, evidence)

  it("by the speaker, or by the name before the relation", () => {
    const ann = chat({ name: "Ann", text: "My sister Cleo lives in Rome." })
    const cleo = fact("Cleo", "Cleo lives in Rome")
    expect(claimed("Where does Ben's sister live?", ...ann, cleo).grounded).toBe(false)
    expect(claimed("Where does Ann's sister live?", ...ann, cleo).answer).toContain("Rome")
    expect(claimed("Where does my sister live?", ...ann, cleo).answer).toContain("Rome")
    const stored = fact("Ann", "Ann has a sister named Cleo", 8)
    expect(claimed("Where does Ben's sister live?", stored, cleo).grounded).toBe(false)
    expect(claimed("Where does Ann's sister live?", stored, cleo).answer).toContain("Rome")
  })
})

describe("a compound is a word of its own", () => {
  it.each([
    ["Do I have a brother?", "I have a brother-in-law."],
    ["Where does my brother live?", "My brother-in-law lives in Kiel."],
    ["Am I a smoker?", "I am a non-smoker."],
    ["Do I have a dog?", "I have a dog-walker."]
  ])("nothing is claimed: %s %s", (question, said) => nothing(question, said))

  it.each([
    ["Do I have a brother-in-law?", "I have a brother-in-law."],
    ["Where does my brother-in-law live?", "My brother-in-law lives in Kiel."],
    ["When is my appointment?", "My follow-up appointment is on 4 May."]
  ])("%s %s", (question, said) => expect(answered(question, said).answer).toContain(said.slice(0, -1)))
})

describe("the statement itself decides", () => {
  it.each([
    ["of somebody before", ["Who is my husband?", "My ex husband is Gil."]],
    ["of another thing", ["Do I like olives?", "I like olive trees."]],
    ["behind a condition", ["Where do I live?", "If anyone asks, I live in Rome."]],
    ["in doubt", ["Where do I live?", "I live in Rome, allegedly."]],
    ["of the one who is spoken to", ["Where does Kim live?", "You are Kim. You live in Bonn."]],
    ["of a namesake", ["What is my name?", "I was named after Bob."]],
    ["of a pet's namesake", ["What is my dog's name?", "My dog was named after Bob Dylan."]],
    ["by a difference", ["How much is my rent?", "The rent went up by 50."]],
    ["by a raise", ["How much is my rent?", "My rent was raised by twenty euros last month."]],
    ["by a rise", ["How much is my rent?", "The rent went up 50."]],
    ["by a comparison", ["How much is my rent?", "My rent is 50 more than last year."]],
    ["by a difference since", ["How much is my rent?", "My rent is 900.", "The rent went up by 50."]]
  ] as const)("nothing is claimed %s: %s", (_, [question, ...said]) => nothing(question, ...said))

  it.each([
    ["Is my sister vegan?", "My sister is vegan.", /^Yes/],
    ["Do we have children?", "We don't have children yet.", /^No/],
    ["What do I do for a living?", "I'm a welder.", /welder/],
    ["Do I have a cat?", "I have a cat named Miso.", /^Yes/],
    ["How much did my rent go up?", "The rent went up by 50.", /by 50/],
    ["How much did they raise the rent?", "They raised the rent by 50.", /by 50/]
  ])("%s %s", (question, said, claimed) => expect(answered(question, said).answer).toMatch(claimed))
})
