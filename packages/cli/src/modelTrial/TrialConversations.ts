/**
 * Three short everyday conversations that a language model is tried with. Each tells facts, changes one of them, and says
 * something that must not be kept: a supposition, a joke, a quotation. A memory holds a fact when it has all its words; it
 * is false when it has the words of something that was not said, or that no longer holds, and none that put it right.
 */

export interface TrialConversation {
  readonly title: string
  readonly messages: ReadonlyArray<{
    readonly role: "user" | "assistant"
    readonly content: string
    readonly sentAt: string
  }>
  readonly facts: ReadonlyArray<{ readonly fact: string; readonly words: ReadonlyArray<RegExp> }>
  readonly falsehoods: ReadonlyArray<{ readonly words: RegExp; readonly unless: RegExp }>
  readonly questions: ReadonlyArray<{
    readonly question: string
    /** Undefined: nothing that was said answers it. */
    readonly answer: RegExp | undefined
  }>
}

const user = (sentAt: string, content: string) => ({ role: "user", content, sentAt }) as const
const assistant = (sentAt: string, content: string) => ({ role: "assistant", content, sentAt }) as const

/** Words by which an earlier state is told as one. */
const past =
  /until|form(?:er|erly)|previous|used to|no longer|earlier|original|instead|moved|left|gave up|was |changed/i

const move: TrialConversation = {
  title: "a move",
  messages: [
    user("2026-03-02T18:04:00Z", "Hi, I'm Marta. I live in Porto with my cat Biscuit and work as a dental nurse."),
    assistant("2026-03-02T18:04:20Z", "Nice to meet you, Marta! What can I do for you?"),
    user("2026-03-02T18:06:00Z", "My brother Paulo collects old maps, and he turns 40 on 21 March. I need a present."),
    assistant("2026-03-02T18:06:30Z", "A framed map of the Douro valley might please him."),
    user("2026-03-02T18:08:00Z", "Good idea. If I were rich, I'd buy him a sailing boat."),
    assistant("2026-03-02T18:08:20Z", "One day, perhaps. A map it is, for now."),
    user("2026-04-20T07:50:00Z", "News from me: I gave up the flat and moved to Braga on Saturday. I kept my job.")
  ],
  facts: [
    { fact: "Marta is a dental nurse", words: [/dental nurse/i] },
    { fact: "the cat is called Biscuit", words: [/biscuit/i, /cat/i] },
    { fact: "Paulo collects old maps", words: [/paulo/i, /maps/i] },
    { fact: "Paulo's birthday is on 21 March", words: [/paulo|brother/i, /21(?:st)?(?: of)? march|march 21|03-21/i] },
    { fact: "Marta lives in Braga", words: [/braga/i] }
  ],
  falsehoods: [
    {
      words: /(?:live|home|resid|based).*\bporto\b|\bporto\b.*(?:live|home|resid|based)/i,
      unless: new RegExp(`braga|${past.source}`, "i")
    },
    { words: /\bboat\b|\brich\b/i, unless: /\bif\b|would|suppos|hypothe/i }
  ],
  questions: [
    { question: "Where do I live now?", answer: /braga/i },
    { question: "What does Paulo collect?", answer: /maps/i },
    { question: "When is Paulo's birthday?", answer: /21(?:st)?(?: of)? march|march 21|03-21/i },
    { question: "What is the name of Paulo's wife?", answer: undefined }
  ]
}

const family: TrialConversation = {
  title: "family and food",
  messages: [
    user("2026-05-11T19:30:00Z", "My doctor says that I must not eat gluten any more. Keep that in mind for recipes."),
    assistant("2026-05-11T19:30:15Z", "Understood, recipes will be free of gluten."),
    user("2026-05-11T19:33:00Z", "My daughter Ines is six. She is afraid of dogs, and she has football on Tuesdays."),
    assistant("2026-05-11T19:33:20Z", "Thanks, that helps when we plan your week."),
    user("2026-05-11T19:36:00Z", 'My colleague Tom wrote to me: "I am getting married in June and moving to Canada."'),
    assistant("2026-05-11T19:36:20Z", "Good news for him!"),
    user(
      "2026-05-11T19:37:00Z",
      "At this rate I will be the last one in the office and they will crown me king, haha."
    ),
    assistant("2026-05-11T19:37:20Z", "Long live the king of the coffee machine."),
    user("2026-06-02T20:10:00Z", "Ines's football is on Thursdays from this week on. Her new coach is called Bea.")
  ],
  facts: [
    { fact: "no gluten", words: [/gluten/i] },
    { fact: "Ines is six", words: [/ines|daughter/i, /\bsix\b|\b6\b/i] },
    { fact: "Ines is afraid of dogs", words: [/ines|daughter/i, /dogs?/i] },
    { fact: "football is on Thursdays", words: [/football/i, /thursday/i] },
    { fact: "the coach is called Bea", words: [/coach/i, /\bbea\b/i] },
    { fact: "Tom moves to Canada", words: [/\btom\b/i, /canada/i] }
  ],
  falsehoods: [
    { words: /football.*tuesday|tuesday.*football/i, unless: new RegExp(`thursday|${past.source}`, "i") },
    { words: /canada|married|marry|wedding/i, unless: /\btom\b|colleague/i },
    { words: /\bking\b|\bcrown/i, unless: /jok|kidding|not /i }
  ],
  questions: [
    { question: "On which day does Ines have football?", answer: /thursday/i },
    { question: "What must I not eat?", answer: /gluten/i },
    { question: "Who is moving to Canada?", answer: /\btom\b/i },
    { question: "When do I get married?", answer: undefined }
  ]
}

const work: TrialConversation = {
  title: "work and a journey",
  messages: [
    user("2026-04-13T08:15:00Z", "Yuki is in charge of the Alder project, and its deadline is 15 May."),
    assistant("2026-04-13T08:15:20Z", "Noted: Alder, Yuki, 15 May."),
    user(
      "2026-04-13T08:18:00Z",
      "Our office is at 12 Mill Street. I never take meetings before ten, and my coffee is black."
    ),
    assistant("2026-04-13T08:18:20Z", "Then I will not suggest a meeting before ten."),
    user(
      "2026-04-13T12:40:00Z",
      'In the novel that I am reading the hero says: "I was born in Madrid and have three wives."'
    ),
    assistant("2026-04-13T12:40:20Z", "Sounds entertaining!"),
    user(
      "2026-04-27T09:05:00Z",
      "Correction: the deadline of Alder is 29 May now. The client asked for two more weeks."
    ),
    assistant("2026-04-27T09:05:20Z", "29 May, then."),
    user("2026-04-27T09:09:00Z", "On 3 June I fly to Oslo for a trade fair. I will stay at the Hotel Lind.")
  ],
  facts: [
    { fact: "Yuki is in charge of Alder", words: [/yuki/i, /alder/i] },
    { fact: "the deadline is 29 May", words: [/29(?:th)?(?: of)? may|may 29|05-29/i] },
    { fact: "the office is at 12 Mill Street", words: [/12 mill street/i] },
    { fact: "no meetings before ten", words: [/meeting/i, /\bten\b|\b10\b/i] },
    { fact: "black coffee", words: [/coffee/i, /black/i] },
    { fact: "Oslo on 3 June", words: [/oslo/i, /3(?:rd)?(?: of)? june|june 3|06-03/i] },
    { fact: "the hotel in Oslo", words: [/hotel lind/i] }
  ],
  falsehoods: [
    { words: /15(?:th)?(?: of)? may|may 15|05-15/i, unless: new RegExp(`29|${past.source}`, "i") },
    { words: /madrid|wives/i, unless: /hero|novel|book|character|quot/i }
  ],
  questions: [
    { question: "When is the deadline of the Alder project?", answer: /29(?:th)?(?: of)? may|may 29|05-29/i },
    { question: "How do I take my coffee?", answer: /black/i },
    { question: "In which hotel do I stay in Oslo?", answer: /lind/i },
    { question: "Where was I born?", answer: undefined }
  ]
}

export const trialConversations: ReadonlyArray<TrialConversation> = [move, family, work]
