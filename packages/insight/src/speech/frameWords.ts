/** Words of frames (Frames.ts): nouns and verbs of texts, and leads before a colon that are the writer's own. */
import { phrases } from "../text/OneOf.ts"

/** Texts in which somebody speaks, who need not be the writer. */
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

/** What people do with words. */
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
