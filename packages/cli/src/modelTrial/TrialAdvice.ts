/**
 * Advice from a trial: whether the model should be configured at all, and with which settings (pure). A false memory
 * or a wrong answer costs twice what a fact or a right answer is worth: the rules hold back where they are not sure.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import type { ServerAbilities, ServerListing } from "@muniment/models/llm/ServerListing"
import { callSettings, type LanguageModelConfig, timeoutOf } from "@muniment/models/llm/LanguageModelConfig"

export interface TrialResult {
  readonly title: string
  /** Facts that a memory holds, of those that were told. */
  readonly held: number
  readonly told: number
  /** Memories of what was not said, or holds no longer. */
  readonly falsehoods: ReadonlyArray<string>
  readonly right: number
  readonly wrong: ReadonlyArray<{ readonly question: string; readonly answer: string }>
  /** Questions that have an answer and got none. */
  readonly withheld: number
  readonly readingMillis: number
  /** Time of the slowest answer. */
  readonly answerMillis: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Calls of the model that gave nothing, by purpose and reason: "extraction truncated". */
  readonly failures: Readonly<Record<string, number>>
}

export interface GivenAnswer {
  readonly asked: TrialConversation["questions"][number]
  /** Undefined: nothing is claimed. */
  readonly answer: string | undefined
  readonly millis: number
}

interface TrialRecord extends Pick<TrialResult, "readingMillis" | "inputTokens" | "outputTokens"> {
  readonly conversation: TrialConversation
  readonly memories: ReadonlyArray<{ readonly data: JsonObject; readonly metadata: JsonObject }>
  readonly answers: ReadonlyArray<GivenAnswer>
  readonly failures: ReadonlyMap<string, number>
}

/** Result of a trial of one conversation, by the words of its facts, falsehoods and answers (pure). */
export const trialResult = ({ answers, conversation, failures, memories, ...measured }: TrialRecord): TrialResult => {
  const { facts, falsehoods, title } = conversation
  const texts = memories.map(textOf)
  const wrong = answers.flatMap(({ answer, asked }) =>
    answer === undefined || asked.answer?.test(answer) === true ? [] : [{ question: asked.question, answer }]
  )
  const withheld = answers.filter(({ answer, asked }) => answer === undefined && asked.answer !== undefined).length
  return {
    title,
    held: facts.filter(({ words }) => texts.some((text) => words.every((word) => word.test(text)))).length,
    told: facts.length,
    falsehoods: texts.filter((text) => falsehoods.some(({ unless, words }) => words.test(text) && !unless.test(text))),
    right: answers.length - wrong.length - withheld,
    wrong,
    withheld,
    answerMillis: Math.max(0, ...answers.map(({ millis }) => millis)),
    failures: Object.fromEntries([...failures].filter(([, count]) => count > 0)),
    ...measured
  }
}

/** All words of a memory and its date, as one line. */
const textOf = ({ data, metadata }: TrialRecord["memories"][number]): string =>
  [...leavesOf(data), ...leavesOf(metadata["when"])].join(", ")

const leavesOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string" || typeof value === "number") return [String(value)]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leavesOf) : []
}

interface TrialTotals {
  readonly held: number
  readonly told: number
  readonly falsehoods: number
  readonly right: number
  readonly wrong: number
  readonly withheld: number
}

export interface TrialAdvice {
  readonly isBetterThanRules: boolean
  /** To be set for the service. */
  readonly settings: Readonly<Record<string, string>>
  /** Sentences. */
  readonly notes: ReadonlyArray<string>
}

export interface TriedModel {
  readonly config: LanguageModelConfig
  readonly isStrict: boolean
  readonly abilities: ServerAbilities
  readonly listing: ServerListing | undefined
  readonly byModel: ReadonlyArray<TrialResult>
  readonly byRules: ReadonlyArray<TrialResult>
}

const costOfWrong = 2
/** A reading, its instructions and its reply need about as much. */
const contextTokensMin = 12_000
/** Other conversations are longer than those of the trial. */
const timeReserve = 3
const timeoutStepMillis = 10_000

export const totalsOf = (results: ReadonlyArray<TrialResult>): TrialTotals => {
  const sum = (of: (result: TrialResult) => number) => results.reduce((total, result) => total + of(result), 0)
  return {
    held: sum(({ held }) => held),
    told: sum(({ told }) => told),
    falsehoods: sum(({ falsehoods }) => falsehoods.length),
    right: sum(({ right }) => right),
    wrong: sum(({ wrong }) => wrong.length),
    withheld: sum(({ withheld }) => withheld)
  }
}

const worthOf = ({ falsehoods, held, right, wrong }: TrialTotals): number =>
  held + right - costOfWrong * (falsehoods + wrong)

/** One slip is no weakness. */
const isWeak = ({ falsehoods, held, right, wrong }: TrialTotals): boolean =>
  wrong + falsehoods > (held + right) * shareOfSlipsMax
const shareOfSlipsMax = 0.1

export const adviceOf = (tried: TriedModel): TrialAdvice => {
  const byModel = totalsOf(tried.byModel)
  if (worthOf(byModel) <= worthOf(totalsOf(tried.byRules))) {
    return {
      isBetterThanRules: false,
      settings: { MUNIMENT_LLM_PROVIDER: "none" },
      notes: ["The rules alone do as well or better: this model should not be configured."]
    }
  }
  const { config, isStrict, listing } = tried
  const timeoutMillis = timeoutFor(tried) ?? config.timeoutMillis
  const slots = config.concurrency ?? listing?.slots
  return {
    isBetterThanRules: true,
    settings: {
      MUNIMENT_LLM_PROVIDER: config.provider,
      MUNIMENT_LLM_BASE_URL: config.baseUrl,
      MUNIMENT_LLM_MODEL: config.model,
      ...(timeoutMillis !== undefined && { MUNIMENT_LLM_TIMEOUT_MILLIS: String(timeoutMillis) }),
      ...(slots !== undefined &&
        slots !== callSettings({ ...config, concurrency: undefined }).concurrency && {
          MUNIMENT_LLM_CONCURRENCY: String(slots)
        }),
      ...((isStrict || isWeak(byModel)) && { MUNIMENT_LLM_CHECKS: "strict" })
    },
    notes: notesOf(tried)
  }
}

/** Undefined: what is configured, or the default, is enough. One setting bounds readings and answers. */
const timeoutFor = ({ byModel, config }: TriedModel): number | undefined => {
  const slowest = (of: (result: TrialResult) => number) => timeReserve * Math.max(...byModel.map(of))
  const needed = {
    extraction: slowest(({ readingMillis }) => readingMillis),
    answer: slowest(({ answerMillis }) => answerMillis)
  }
  const isEnough = needed.extraction <= timeoutOf(config, "extraction") && needed.answer <= timeoutOf(config, "answer")
  if (isEnough) return undefined
  const millis = Math.max(needed.extraction, needed.answer, timeoutOf(config, "extraction"))
  return Math.ceil(millis / timeoutStepMillis) * timeoutStepMillis
}

/** A call of the model that reads failed. */
export const isUnread = ({ failures }: TrialResult): boolean =>
  Object.keys(failures).some((reason) => reason.startsWith("extraction"))

const notesOf = ({ abilities, byModel, config, listing }: TriedModel): ReadonlyArray<string> => {
  const contextTokens = listing?.contextTokens.get(config.model)
  const product = listing?.product
  const longer = product === undefined ? undefined : longerContext[product]
  return [
    ...(contextTokens !== undefined && contextTokens < contextTokensMin
      ? [
          `A context of ${contextTokens} tokens is too short for long conversations.${longer === undefined ? "" : ` ${longer}`}`
        ]
      : []),
    ...(abilities.thinking === "stays_on"
      ? ["The model thinks before it answers and cannot be told not to: replies take longer, and some may be cut off."]
      : []),
    ...(byModel.some(isUnread)
      ? ["Some readings failed; what rules do not find in such conversations is kept as messages only."]
      : [])
  ]
}

/** Advice for a longer context, in the words of the server. */
const longerContext: Readonly<Record<NonNullable<ServerListing["product"]>, string>> = {
  Ollama: "Start Ollama with OLLAMA_CONTEXT_LENGTH=16384.",
  "llama.cpp": "Start llama-server with -c 16384, times the number of its slots (-np).",
  "LM Studio": "Load the model with a context of 16384 tokens.",
  vLLM: "Start vLLM with --max-model-len 16384."
}

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
