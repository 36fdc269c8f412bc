/**
 * Decides which sentences state a fact. Questions, hypotheticals, instructions, other people's words and role play do not;
 * each is reported with its reason. Introductions (`by the way`, `remember that`, `I should mention that`) are removed.
 */
import type { DroppedCandidate } from "../extraction/Extractor.ts"
import { greeted, paraphrased } from "./Paraphrases.ts"

export type Verdict =
  | { readonly states: true; readonly text: string; readonly isAsked: boolean }
  | { readonly states: false; readonly reason: DroppedCandidate["reason"] | "small_talk"; readonly message: string }

/** `sentence` has its contractions expanded (Words.ts). */
export const gate = (sentence: string): Verdict => {
  const { isAsked, text } = withoutIntroduction(sentence)
  const stop = (reason: DroppedCandidate["reason"] | "small_talk", message: string): Verdict => ({
    states: false,
    reason,
    message
  })
  if (text === "" || smallTalk.test(text)) return stop("small_talk", "small talk")
  if (/(?:^|\s)\/s\b|\(sarcasm\)|\bas if\b/i.test(text) || mockery.test(sentence)) return stop("unsupported", "sarcasm")
  if (story.test(text)) return stop("unsupported", "of a story or a specification")
  if (rolePlay.test(text)) return stop("unsupported", "role play")
  if (isQuestion(text)) return stop("question", "a question states nothing")
  if (attack.test(text)) return stop("instruction", "an instruction, no fact")
  if (request.test(text)) return stop("instruction", "a request to the assistant")
  if (isReported(text)) return stop("unsupported", "words of somebody else")
  if (isHypothetical(text)) return stop("hypothetical", "supposed, not stated")
  if (!isAsked && imperative.test(text) && !/^(?:please |just )*call me /i.test(text))
    return stop("instruction", "an instruction to the assistant")
  return { states: true, text, isAsked }
}

/** Starts role play, which lasts until a message ends it. */
export const startsRolePlay = (sentence: string): boolean => rolePlay.test(sentence)

const introductions: ReadonlyArray<RegExp> = [
  /^(?:oh|well|so|ok(?:ay)?|hey|hi|hello|hiya|kia ora|hei|hej|hallo|hola|bonjour|ciao|servus|moin|g'day|howdy|namaste|yes|yeah|yep|yup|sure|no|nope|nah|right|alright|ah|aha|hmm+|um+|uh|great|thanks|thank you|thx|cool|nice|good (?:morning|evening|afternoon)|anyway|also|plus|and|but|actually|honestly|btw|fyi|look|listen|sorry|wait|ha(?:ha)*|lol|technically|now|mostly|update|correction|fun fact|quick update|small correction|good news|bad news|great news|sad news)(?: there| again| all| everyone)?[\s,!.:;-]+(?=\S)/i,
  /^(?:by the way|out of character|back to reality|for real now|in fact|as a matter of fact|to be honest|to be fair|for (?:the|your) (?:record|info|information|reference|context)|for what it is worth|for context|for background|some background|a bit about me|about me|just so you know|so you know|just to let you know|as you know|as I said|as I mentioned|first of all|first off|on another note|one more thing|another thing|on the other hand|in general|these days|nowadays|at the moment|right now|currently|in my free time|in my spare time|on weekends|unfortunately|fortunately|luckily|sadly|happily|basically|personally|speaking of which|guess what|believe it or not|turns out|it turns out(?: that)?|the thing is|the good news is|the bad news is|not to brag but|since you ask(?:ed)?|since we last (?:spoke|talked|chatted)|after all|of course|obviously|frankly|seriously|long story short|to clarify|to correct myself|I misspoke|my mistake|my bad)[\s,:;-]+(?:that )?(?=\S)/i,
  /^(?:I )?(?:just )?(?:wanted|want|would like|thought I would|thought I should|need|have|should|must|might as well|can|have got) (?:to )?(?:mention|add|say|tell you|let you know|share|note|point out|clarify|confess|admit|introduce myself)(?: to you)?[\s,:;-]+(?:that )?(?=\S)/i,
  /^I (?:forgot to (?:mention|say|tell you)|(?:already )?(?:told|mentioned to) you|am (?:happy|glad|pleased|excited|proud|sad|sorry|afraid) (?:to (?:say|report|announce|tell you)|that)|am (?:pretty |quite |very )?sure(?: that)?|(?:do )?(?:believe|confess|admit|must say|have to say|have to admit|guess|think|suppose|mean)|know(?: that)?|realized(?: that)?|just realized(?: that)?|noticed(?: that)?|found out(?: that)?|just found out(?: that)?)(?: that)?[\s,:;-]+(?=(?:I|my|we|our|he|she|they)\b)/i,
  /^did I (?:mention|tell you)(?: that)?[\s,]+(?=(?:I|my|we|our)\b)/i
]
const asking =
  /^(?:please |pls |can you |could you |you should |you can )?(?:also )?(?:remember|note|keep in mind|bear in mind|do not forget|never forget|make a note|take note|note down|save|store)(?: (?:this|for later|for me|for the future|for next time))?(?: please)?[\s,:;-]+(?:that )?(?=(?:I|my|we|our|the fact|[A-Z])\b)/i

const noting =
  /^(?:please |pls )?(?:put (?:this|that|it) down|write (?:this|that|it) down|note (?:this|that)?(?: down)?|add (?:this |that |it )?to (?:my|the) (?:calendar|contacts|notes|diary)|for (?:my|the) (?:calendar|diary|records?))\s*:\s*/i

const introductionsMax = 5

const withoutIntroduction = (sentence: string): { readonly text: string; readonly isAsked: boolean } => {
  let text = greeted(sentence.trim())
    .replace(
      /^(?:and |but |so )?(?=(?:no|nothing) (?!problem|worries|need|thanks)[\p{L}\d][^,.]*?,? please\b)/iu,
      "I prefer "
    )
    .replace(/,? please[.!]?$/i, "")
  let isAsked = false
  for (let round = 0; round < introductionsMax; round++) {
    const before = text
    for (const pattern of introductions) text = text.replace(pattern, "")
    const cut = text.replace(asking, "").replace(noting, "")
    isAsked ||= cut !== text
    text = cut
    if (text === before) break
  }
  return { text: paraphrased(completed(text.replace(/, in case\b.*$/i, "").trim())), isAsked }
}

/** Statements without their first words: `not a fan of`, `favorite food is`. */
const completed = (text: string): string =>
  text
    .replace(/^(?=(?:really |definitely |absolutely )?not (?:a (?:big |huge )?fan of|into|keen on)\b)/i, "I am ")
    .replace(
      /^(name|age|city|job|occupation|email|e-mail|phone|birthday|employer|company|nationality|hometown|allergies|pronouns): ?(?=\S)/i,
      (_, field: string) => stated(field)
    )
    .replace(/^favorite (?=[\w ]{1,30} (?:is|are|has to be)\b)/i, "My favorite ")

/** `City: Mysuru` as a sentence. */
const stated = (field: string): string => {
  if (/^age$/i.test(field)) return "I am "
  return /^city$/i.test(field) ? "I live in " : `My ${field.toLowerCase()} is `
}

/** Irony: `oh great, ...`, `I just LOVE waiting`. */
const mockery =
  /^(?:[Yy]eah|[Ss]ure|[Oo]h),? (?:right|sure)\b|\b[Nn]ot that (?:I|we)\b|\bor anything[.!]?$|^oh,? (?:great|joy|wonderful|fantastic|brilliant|yay|perfect|lovely)\b|\b(?:LOVE|ADORE)\b|\blove (?:it when|waiting|being (?:ignored|late|woken|stuck|on hold)|getting (?:spam|ignored))|\b(?:because|cause) who does not\b/

const story =
  /\b(?:writing|drafting|filming|sketching) (?:a|the|my) (?:scene|chapter|story|sketch|play|script) (?:where|in which|about)\b|\b(?:parallel universe|another life|past life|alternate (?:universe|reality))\b|^(?:customer|user|client|agent|patient|interviewer|speaker|narrator|[AQ]) ?\d?: |^for the sake of (?:the )?argument|^as an? (?:user|admin|administrator|customer),? I (?:want|would|can|need)\b|\b(?:in )?chapter \d|\bthe character\b/i

const smallTalk =
  /^(?:I (?:(?:see|know|understand)(?=[,.!]|$| what| that| why| you)|get it|got it|agree|disagree|hope so|think so|guess so|suppose so|do not know|do not think so|do not care|mean it|am (?:fine|good|ok(?:ay)?|well|great|sorry|kidding|joking|just kidding|just joking|all ears|listening|(?:back|here|ready|done|in|out)(?=[,.!]|$)))(?:[,.! ]|$)(?!from|at|with|in|to|that|about)|just kidding|jk\b|thanks|thank you|how are you|good (?:morning|night|evening|afternoon)|see you|bye|goodbye|lol|haha|hello|hi\b|hey\b)/i

const rolePlay =
  /\b(?:role[- ]?play|pretend(?:ing)? (?:that |to be |you|I|we)|act as|let us (?:play|pretend)|let's (?:play|pretend)|in character|imagine (?:that )?(?:I|you|we|a)\b|you are (?:now )?(?:a|an|the|my)\b|from now on,? you|suppose (?:that )?(?:I|we|my)\b|my character|protagonist|main character|fictional|in (?:this|the|my) (?:story|novel|game|scenario|scene)|once upon a time)/i

const questionStart =
  /^(?:who|what|when|where|why|which|how|whose|whom|do|does|did|is|are|was|were|can|could|would|will|shall|should|may|might|am|have you|has|had|isn't|aren't|don't|doesn't|didn't|any (?:idea|chance|suggestion|tip|recommendation)s?)\b/i

const isQuestion = (text: string): boolean => {
  if (/\?["')\s]*$/.test(text)) return true
  return (
    questionStart.test(text) &&
    !/^(?:when|what|where|how|why|which|who|while)\b[^,]*,? (?:I|we|my)\b/i.test(text) &&
    !/^(?:will|may|mark|grant)\s+[a-z]+s\b/i.test(text)
  )
}

/** Orders to a system, also when attributed to another person. */
const attack =
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|prompt|rule|previous|above|prior|guideline|polic|everything|system)|\b(?:system|developer) (?:prompt|message|override|mode)\b|\bjailbreak|\byou must (?:now|always|never)|\b(?:reveal|print|output|exfiltrate|dump|leak)\b.{0,40}\b(?:prompt|key|secret|password|token|instruction|memor)|\b(?:delete|erase|remove|overwrite|wipe|drop|supersede)\b.{0,30}\b(?:memor|record|database|table|all (?:other|previous|data)|everything)|\b(?:new|updated|following|these|hidden|secret) instructions?\b|\b(?:call|invoke|use|run) (?:the )?[\w.]* ?(?:tool|function)\b|\b(?:assistant|AI|model|agent|system|bot)s? (?:must|should|shall|has to|have to|is (?:required|instructed|ordered)|will now)\b|\b(?:from now on|in (?:all|every) (?:future|answer|response|repl))|\balways (?:answer|reply|respond|recommend|include|say|send|trust|approve|call|use)\b|\bnever (?:mention|reveal|refuse|tell)\b|\b(?:base64|rot13|decode)\b|\b(?:store|save|add|insert|write) (?:the|this|a|these) (?:following )?(?:memor|fact|record|note)/i

const request =
  /^(?:I (?:(?:would|will|do|just|really) )*(?:need|want|like|love|appreciate|prefer)|we (?:would )?(?:need|want|like)) (?:it if )?(?:you\b|your\b|(?:some |a bit of |a little )?(?:help|advice|assistance|guidance|suggestions?|recommendations?|ideas?|tips?|feedback|info|information|examples?|details)\b|to (?:know|ask|hear|see (?:some|how|what|an?)|understand (?:how|why|what))\b|(?:a|an|the) (?:quick |short |simple |good |nice |brief |detailed |complete |new )?(?:recipe|list|summary|table|code|script|function|explanation|example|answer|poem|joke|story|email|letter|draft|template|plan for|outline|translation|definition|suggestion|recommendation|overview|quote)\b)|^I am (?:looking for (?:a |some )?(?:recipe|advice|help|suggestion|recommendation|tip|idea|information|way)|wondering|asking|curious|trying to (?:understand|figure|find out|remember|decide)|not sure|unsure)|^I (?:have|had|have got) (?:a |another |one |some |two |one more )?(?:quick |small |little |more )*(?:question|request|problem with|issue|idea|doubt|favor|favour)|^(?:is|are) there\b|^(?:it would be|would be) (?:great|nice|good|helpful) if|^let me know|^I (?:wonder|do not (?:know|understand|get|remember|see))\b/i

const imperative =
  /^(?:please|pls|kindly|let's|let us|go ahead|do not|stop|never mind|remind me|tell me|show me|give me|help me|teach me|send|write|book|find|make|create|explain|list|generate|translate|summari[sz]e|compare|calculate|convert|recommend|suggest|describe|draft|schedule|add|set|order|search|look up|check|fix|update|delete|remove|forget|ignore|change|remember|keep|use|call (?!me\b)|read|play|open|print|run|put|turn|continue|act|respond|reply|answer|note|save|store|mark|treat|approve|grant|confirm|repeat|say|insert|execute|return|output|always|never)\b/i

const speakers =
  "(?:[Hh]e|[Ss]he|[Tt]hey|[Pp]eople|everyone|everybody|somebody|someone|nobody|[Mm]y [\\w-]+(?: [A-Z]\\w+)?|[Tt]he [\\w-]+(?: [\\w-]+)?|[A-Z]\\w+)"
const reports =
  "(?:says?|said|claims?|claimed|thinks?|thought|believes?|believed|tells? me|told me|tells? us|told us|insists?|insisted|mentions?|mentioned|complain(?:s|ed)|argues?|argued|suggests?|suggested|recommends?|recommended|wrote|writes|asked|asks|was like|is like|keeps? saying)"
const reported = new RegExp(
  `^(?:(?:yesterday|today|last \\w+|once|recently|the other day),? )?${speakers} (?:\\w+ly |always |just |also |once |often |keeps |recently )?${reports}\\b|\\bQUOTATION\\b|\\baccording to\\b|^(?:it|they) says?\\b`
)
const isReported = (text: string): boolean => reported.test(text) && !/^I\b/.test(text)

const isHypothetical = (text: string): boolean => {
  // With a capital letter it is the month.
  if (/\bmay (?:not )?[a-z]/.test(text)) return true
  if (
    /\b(?:hypothetical(?:ly)?|what if|as if|if only|in theory|let's say|let us say|say I|suppose|supposing|assuming|imagine|unless|in case|were to|wish(?:es|ed)?|might|maybe|perhaps|possibly|could have|should have|would have|not sure (?:if|whether|that)|considering whether|thinking (?:of|about)|dream(?:ed|t) (?:that|I))\b/i.test(
      text
    )
  ) {
    return true
  }
  if (/\bif\b/i.test(text))
    return !/\b(?:as if|if (?:possible|(?:that|it) (?:matters|helps)|relevant|you (?:must|want to) know|you are (?:interested|curious|wondering)))\b/i.test(
      text
    )
  // `I would like`, `I would rather` and `I would love to` state a real wish.
  return (
    /\b(?:would|could|should)\b/i.test(text) &&
    !/\bwould (?:(?:really|much|rather|also|so) )*(?:like|love|rather|prefer|hate|never)\b/i.test(text) &&
    !/\bcould not\b/i.test(text)
  )
}
