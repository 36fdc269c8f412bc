/**
 * Words by which sentences are cut into statements (Clauses.ts) and their mood is recognised (Mood.ts), and words of frames
 * (Frames.ts).
 */
import { phrases, wordSet } from "../text/OneOf.ts"

/** Begin a time or a place that stands before the subject. */
export const settings = wordSet(`
  yesterday today tonight tomorrow last next this in on at for since during before after until when while once from every each
  two three four five a one monday tuesday wednesday thursday friday saturday sunday back around earlier later by as whenever
`)

/** Between two statements of a run-on sentence (Statements.ts). */
export const statementJoints = phrases(String.raw`
  and / but / so(?! (?:that|far|much|long)) / because / cause / cuz / cos / plus / although / though / which is why / and so
`)

/** Forms by which a statement with a noun for its subject is known. */
export const finiteForms = phrases(String.raw`
  am / is / are / was / were / has / have / had / will / can / does / do / did / says? / said / got / gets? / lives? / works?
  loves? / likes? / hates? / wants? / needs? / keeps? / makes? / goes / comes? / came / went / moved / started / starts? / called
  thinks? / thought / told / tells? / suggested / prefers? / plays? / takes? / took / offered / might / may / would / could
  should / turned / turns / studies / teaches / runs / bought / sold / lost / left / died / opens? / closed / cancelled
`)

/** Belong to the statement behind them. */
export const statementLeads = phrases(String.raw`
  (?:remember|note|keep in mind|bear in mind|do not forget|make a note|take note|save|store)(?: .{0,20})? / correction / small correction
  (?:I )?(?:just )?(?:wanted to|want to|would like to|should|forgot to) (?:mention|add|say|tell you)(?: you)? / did I (?:mention|tell you)
  (?:for|as) .{3,30} / (?:hi|hey|hello|hiya|good \w+)(?: there)? / since we last .{3,20} / I (?:meant|mean) / sorry / actually
  put (?:this|that|it) down / add .{3,30} / my \w+ / best / cheers
`)

export const interjections = phrases(String.raw`
  oh / well / so / ok(?:ay)? / hey / hi / hello / hiya / kia ora / hei / hej / hallo / hola / bonjour / ciao / servus
  moin / g'day / howdy / namaste / yes / yeah / yep / yup / sure / no(?! longer| more| one) / nope / nah / right / alright / ah / aha / hmm+
  um+ / uh / great / thanks / thank you / thx / cool / nice / good (?:morning|evening|afternoon) / anyway / also
  plus / and / but / actually / honestly / btw / fyi / look / listen / sorry / wait / ha(?:ha)* / lol / technically
  now / mostly / update / correction / fun fact / quick update / small correction / good news / bad news / great news
  sad news
`)

export const questionWords = phrases(String.raw`
  who / what / when / where / why / which / how / whose / whom / do / does / did / is / are / was / were / can / could
  would / will / shall / should / may / might / am / have you / has / had / isn't / aren't / don't / doesn't / didn't
  any (?:idea|chance|suggestion|tip|recommendation)s?
`)

export const suppositions = phrases(String.raw`
  hypothetical(?:ly)? / allegedly / supposedly / what if / as if / if only / in theory / let's say / let us say / say I / suppose / supposing
  assuming / imagine / unless / in case / were to / wish(?:es|ed)? / might / maybe / perhaps / possibly / could have
  should have / would have / not sure (?:if|whether|that) / considering whether / thinking (?:of|about)
  dream(?:ed|t) (?:that|I) / in (?:my|the|a|his|her) (?:dreams?|imagination) / in (?:another|a past|my next) life / (?:parallel|alternate) (?:universe|reality)
  I am (?:basically|literally|practically|legally an?) / like I am an?
`)

/** Deny a statement, or all but deny it. */
export const negators = phrases(String.raw`
  not / never / no longer / no / neither / nor / none / nothing / nobody / no one / nowhere / without / hardly / scarcely / barely / seldom
  rarely / few(?<!\ba few) / little(?= (?:of|about|interest|to)\b) / anything but / far from / yet to / failed to / almost / nearly / by no means / as (?:much|little) as
`)

/** Of a state that has ended. */
export const endings = phrases(String.raw`
  used to / (?:is|are|has|have) gone(?=\W*$) / no longer / any ?more / not .{1,40} any longer / (?:is|are|am) (?:over|done with) / has ended / ended / came to an end
  (?:I|we|he|she|they|have|has|had|just|recently) (?:quit|left|resigned|retired|stopped|dropped out|gave up|given up|gave notice|lost|sold)
  (?:I|we|he|she|they|have|has|had|just|recently) (?:got rid of|cancelled|broke up|split up|separated|divorced|moved out|parted ways|deleted)
  (?:am|is|are|was|were|got|been|being) (?:laid off|fired|let go|made redundant|dismissed|divorced|dumped|kicked out|evicted|single again)
  laid (?:me|him|her|us) off / fired (?:me|him|her|us) / let (?:me|him|her|us) go / dumped (?:me|him|her) / passed away / died / former(?:ly)? / back then / grew out of / gone off / went off
  ^(?:just |finally |officially )?(?:quit|resigned|retired|dropped out|gave up|split up|divorced)(?! (?:is|was)\b)
  (?:got|was|were|been|is|are) (?:stolen|totall?ed|wrecked|scrapped|written off|destroyed|repossessed) / (?:I|we) (?:totall?ed|wrecked|outgrew|(?:have |had )?outgrown)
  (?:last|final) day at / until (?:\w+ )?(?:last|\d{4}|recently|\p{Lu}\p{Ll}+) / once (?:lived|worked|was|had|owned|spoke|played|liked|loved)
`)

/** Past forms of verbs of states. */
export const pastStates = phrases(String.raw`
  was / were / had / lived / worked / owned / studied / spoke / drove / loved / liked / hated / enjoyed / preferred / belonged / taught / drank / wanted / played
`)

/**
 * Words of frames (Frames.ts): nouns and verbs of texts, and leads before a colon that are the writer's own.
 *
 * Texts in which somebody speaks, who need not be the writer.
 */
export const textNouns = phrases(String.raw`
  e-?mails? / letters? / messages? / texts? / sms / notes? / cards? / posts? / tweets? / captions? / stor(?:y|ies) / tales? / novels?
  poems? / haikus? / lyrics / songs? / verses? / speech(?:es)? / toasts? / essays? / articles? / paragraphs? / sentences? / dialogues?
  conversations? / transcripts? / scripts? / scenes? / monologues? / plays? / sketch(?:es)? / bios? / biograph(?:y|ies) / profiles?
  personas? / characters? / reviews? / testimonials? / ads? / adverts? / brochures? / flyers? / statements? / applications?
  jokes? / anecdotes? / riddles? / replies / reply / responses? / prompts? / templates? / drafts? / excerpts? / passages? / quotes? / entr(?:y|ies) / diar(?:y|ies)
  fixtures? / examples?(?! of\b) / samples?(?! of\b) / (?:test|sample|fake|dummy|mock|seed) \w+ / résumés? / resumes? / cvs? / headlines?
  scenarios? / announcements? / greetings? / complaints? / out-of-office / memories / rows / records
`)

/** Verbs whose object is a text. */
export const textVerbs = phrases(String.raw`
  translate / proofread / rephrase / paraphrase / rewrite / reword / summari[sz]e / shorten / transcribe / recite / repeat(?! (?:that|it)\b)
  dictate / echo / cite / subtitle
`)

/** With `this`, `the following` or a text for their object. */
export const handlingVerbs = phrases(String.raw`
  correct / polish / fix / check / improve / edit / complete / continue / fill in / read / turn / put / type / analy[sz]e / classify / copy / extract
  parse / convert / review / consider / expand / explain / format / sign / rate / grade / label / tag / answer / respond to / reply to
  make(?= (?:this|that|it|the following)\b[^.!?]{0,30}\b(?:more|less|sound|short|shorter|longer|better|formal|polite|concise|clearer|nicer|into))
`)

/** With a text for their object. */
export const makingVerbs = phrases(String.raw`
  write / draft / compose / create / generate / make(?: up)? / give me / show me / tell(?: me)? / invent / produce / come up with / prepare
  imagine / send(?: \w+)? / add / play / post / design
`)

/** Begin what is supposed, from there on. */
export const suppositionLeads = phrases(String.raw`
  suppose / supposing / imagine / assume / assuming / picture this / let's say / let us say / say I / hypothetically / what if / in theory
  for (?:the )?(?:sake of )?argument(?:'s sake)? / just for fun / thought experiment / e\.g\. / for (?:example|instance)
`)

/** Before a colon: what follows is the writer's own. The head of the lead, or all of it. */
export const ownLeads = phrases(String.raw`
  update / correction / note / ps / p\.s\.? / nb / fyi / btw / edit / tl;?dr / reminder / disclaimer / warning / question / answer / yes / no / ok / okay
  fact / facts? about (?:me|us) / thing / things / things? to (?:know|remember|note) / news / deal / situation / problem / issue / catch / point / background / context / story short
  status / truth / reason / heads[- ]up / about me / about us / introduction / intro / details / info / information / preferences? / goals?
  hobbies / interests / allergies / diet / family / request / confession / spoiler / bottom line / more / else / order / address / schedule / plans? / hobby
  out of character / back to reality / for real(?: now)? / seriously / get this / guess what / check this out / listen / look / honestly / anyway / so / well / actually / also / and / but / sorry / wait / hi / hello / hey
`)

/** Who may speak before a colon: roles, and nouns of persons by their endings. */
export const speakerNouns = phrases(String.raw`
  user / human / assistant / system / ai / bot / model / tool / agent / client / guest / host / support / service / team / staff / desk / office
  \p{L}{2,}(?:er|or|ist|ant|ent|ian|eer|man|men|woman|women|person|people|mate|body|one)s?
  guy / girl / boy / lady / kids? / child(?:ren)? / friends? / boss / chef / nurse / coach / guide / clerk / voice / wife / spouse / son / mum / mom / dad / aunt / uncle
  cousin / niece / nephew / gran / grandma / grandpa / gf / bf / ex / coworker / colleague / landlord / vet / gp / doc / judge / crowd / family
`)

/** Order the reader to keep what follows. */
export const keepingLeads = phrases(String.raw`
  remember / note / keep in mind / bear in mind / do not forget / don't forget / never forget / make a note / take note / note down / save
  store / for (?:the|your|my) records? / put (?:this|that|it) down / write (?:this|that|it) down / add (?:this |that |it )?to (?:my|the) \w+
  for (?:my|the) (?:calendar|diary) / (?:just )?so you know / for (?:your|the) (?:info|information|reference|record|context) / know / mention / add / say this / tell you / share
`)

/** Verbs of saying. */
export const speechVerbs = phrases(String.raw`
  said / says / say / wrote / writes / written / texted / texts / messaged / replied / replies / answered / answers / posted / posts / sent / sends / told / tells
  asked / asks / shouted / whispered / yelled / read / reads / goes / went / quoted / tweeted / emailed / claims / claimed / announced / (?:was|is|were) like / sang / sings
  mentioned / mentions / remarked / joked / added / explains / explained / put it / begins / began / starts / ends
`)

/** Begin role play, which later messages continue until one ends it. */
export const lastingPlays = phrases(String.raw`
  role[- ]?play / pretend (?:that |to be |you|I|we) / act (?:as|like) (?:an?|my|the) / (?:let us|let's) (?:play (?!some )|pretend) / in character
  imagine (?:that )?(?:I am|I'm|you are|you're|we are) an? / from now on,? you / you are now an? / for the rest of (?:this|the|our)
  you are (?:an?|my|the) [\w -]{2,40},? (?:and )?(?:I am|I'm) (?:an?|the|your|Sir|Dame|Lord|Lady|King|Queen|Captain|\p{Lu}\w+)\b
  you are an? [\w -]{0,30}\b(?:assistant|AI|bot|pirate|wizard|character|expert|tutor|interviewer|detective|robot)\b
  (?:for|in) (?:the|this|my) (?:play|scene|game|story|novel|film|movie|(?:[\w&]+ )?campaign) / (?:you )?play (?:a game|the|my) \w+, (?:and )?(?:I am|I'm) / my character\b
  (?:simulate|impersonate|mimic|portray) (?:an?|the|my|me) / I (?:want|need|would like) you to (?:be (?:me|him|her)\b|impersonate|play)
`)
