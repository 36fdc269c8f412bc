/**
 * The topic of a profile under which a fact stands, by its words: the first list that has one of them. What no list knows
 * is `other`. English; facts in other languages are `other` unless they are about somebody else.
 */
import type { ProfileTopic } from "@muniment/domain/Context"

const listed = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

const topicWords: ReadonlyArray<readonly [topic: ProfileTopic, words: ReadonlySet<string>]> = [
  [
    "people",
    listed(`
      wife husband partner girlfriend boyfriend fiance fiancee spouse married engaged divorced sister sisters brother
      brothers twin mother mum mom father dad parents son sons daughter daughters child children kid kids baby grandmother
      grandma grandfather grandad grandpa aunt uncle cousin niece nephew friend friends neighbour neighbor flatmate roommate
      colleague boss landlord cat cats dog dogs pet pets puppy kitten rabbit horse parrot hamster
    `)
  ],
  [
    "identity",
    listed(`
      name named called nickname surname birthday born age aged old pronouns nationality citizen heritage speaks language
      languages religion phone email address contact
    `)
  ],
  [
    "health",
    listed(`
      allergic allergy allergies intolerant intolerance coeliac celiac diabetic diabetes asthma migraine migraines pregnant
      medication medicine dose doctor dentist therapist therapy surgery operation injury injured illness disease condition
      diet vegan vegetarian pescatarian glasses blood diagnosed recovering
    `)
  ],
  [
    "home",
    listed(`
      lives live living lived moved moving home house flat apartment rents rent renting mortgage bedroom neighbourhood
      neighborhood address hometown commute commutes timezone
    `)
  ],
  [
    "work",
    listed(`
      works work working worked job employer employed company profession occupation career role position title manager
      engineer developer teacher nurse studies study studying studied student university college school degree major thesis
      course salary office shift shifts business startup retired freelance team
    `)
  ],
  [
    "interests",
    listed(`
      hobby hobbies interests interest plays play playing sings choir guitar piano violin drums runs running cycles cycling
      bike swims swimming hikes hiking climbs climbing reads reading paints painting knits gardening chess football tennis
      yoga training marathon club band collects photography cooks baking favorite favourite likes loves enjoys
    `)
  ]
]

export const topicOf = (text: string): ProfileTopic => {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu))
  return topicWords.find(([, list]) => !words.isDisjointFrom(list))?.[0] ?? "other"
}
