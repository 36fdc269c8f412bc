/**
 * Closed classes of words by language, for questions whose words the answering statement repeats (ForeignQuotes.ts).
 * Grammar alone: nothing here names what may be asked about.
 */
import { wordSet } from "@muniment/language/text/OneOf"

/** Part that an interrogative asks for, as far as a statement shows that it has it. */
export type ForeignPart = "place" | "time" | "reason" | "count" | "thing"

/** A language that puts its interrogatives first. */
export interface FrontedForms {
  readonly locale: string
  readonly interrogatives: Readonly<Record<ForeignPart, ReadonlySet<string>>>
  /** Followed by the noun that they ask about: "which". */
  readonly attributive: ReadonlySet<string>
  readonly prepositions: ReadonlySet<string>
  /** May differ between a question and its answer: "the dog", "my dog". */
  readonly articles: ReadonlySet<string>
  /** Join clauses or nouns. */
  readonly conjunctions: ReadonlySet<string>
  /** Make of a clause something supposed, reported or set in relation. */
  readonly subordinators: ReadonlySet<string>
  readonly negators: ReadonlySet<string>
  readonly reasons: ReadonlySet<string>
  /** Say that something is so from now on, or no longer. */
  readonly changes: ReadonlySet<string>
  /** Words of somebody who leaves a place for another one. */
  readonly moves: ReadonlySet<string>
  /** Take back what was said. */
  readonly jests: ReadonlySet<string>
  /** Beginnings of verbs for work on a text. */
  readonly works: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
}

const forms = (
  locale: string,
  rows: Readonly<Record<ForeignPart | Exclude<keyof FrontedForms, "locale" | "interrogatives">, string>>
): FrontedForms => {
  const { count, place, reason, thing, time, ...rest } = rows
  const sets = <K extends string>(texts: Readonly<Record<K, string>>): Record<K, ReadonlySet<string>> =>
    Object.fromEntries(Object.entries<string>(texts).map(([key, text]) => [key, wordSet(text)])) as Record<
      K,
      ReadonlySet<string>
    >
  return { locale, interrogatives: sets({ count, place, reason, thing, time }), ...sets(rest) }
}

export const frontedForms = {
  german: forms("de", {
    place: "wo woher wohin",
    time: "wann",
    reason: "warum wieso weshalb",
    count: "wieviel wieviele viel viele",
    thing:
      "wer wen wem wessen was wie welche welcher welches welchem welchen wogegen womit woran worauf wofür worin wovon worüber",
    attributive: "welche welcher welches welchem welchen wessen viel viele wieviel wieviele",
    prepositions:
      "in im ins an am auf bei beim zu zum zur nach aus von vom vor seit ab um bis neben unter über hinter zwischen mit für gegen durch",
    articles: "der die das den dem des ein eine einen einem einer",
    conjunctions: "und oder aber sondern denn doch",
    subordinators: "dass daß wenn falls ob obwohl damit sei wäre hätte würde vielleicht angeblich fast",
    negators: "nicht nie niemals kein keine keinen keinem keiner keines nichts niemand weder nirgends kaum",
    reasons: "weil denn da wegen damit um deshalb",
    changes: "jetzt nun inzwischen mittlerweile neu neue neuer neues neuen neuerdings statt stattdessen mehr doch",
    moves: "umgezogen gezogen ziehe gewechselt gekündigt verlassen",
    jests: "spaß scherz witz quatsch gelogen",
    works: "übersetz korrigier verbesser schreib formulier wiederhol",
    numbers: "ein eine einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend"
  }),
  spanish: forms("es", {
    place: "dónde donde adónde",
    time: "cuándo cuando",
    reason: "porqué",
    count: "cuánto cuánta cuántos cuántas cuanto cuantos cuantas",
    thing: "qué que quién quiénes quien quienes cuál cuáles cual cuales cómo como",
    attributive: "qué que cuál cuáles cual cuánto cuánta cuántos cuántas cuantos cuantas",
    prepositions: "en a al de del desde hasta por para con contra entre sobre bajo hacia tras",
    articles: "el la los las un una",
    conjunctions: "y e o u pero sino",
    subordinators: "que si cuando como donde quien aunque mientras ojalá quizás quizá tal supuestamente casi",
    negators: "no nunca jamás ni nadie nada ningún ninguna tampoco apenas",
    reasons: "porque por debido ya para",
    changes: "ahora ya nuevo nueva nuevos nuevas actualmente cambié cambiado",
    moves: "mudé mudado mudo dejé renuncié cambié",
    jests: "broma bromeando mentira",
    works: "traduc traduz corrig corrij escrib repit reescrib",
    numbers: "un una uno dos tres cuatro cinco seis siete ocho nueve diez once doce cien mil"
  }),
  french: forms("fr", {
    place: "où ou",
    time: "quand",
    reason: "pourquoi",
    count: "combien",
    thing: "qui que qu quoi quel quelle quels quelles comment",
    attributive: "quel quelle quels quelles combien de",
    prepositions:
      "à au aux en dans chez de du des depuis vers sur sous devant derrière entre avec pour contre par près",
    articles: "le la les l un une du des",
    conjunctions: "et ou mais",
    subordinators: "que qu si quand comme qui dont où lorsque quoique bien serait aurait peut presque prétendument",
    negators: "ne n pas jamais rien personne aucun aucune ni plus guère",
    reasons: "parce car puisque pour cause grâce",
    changes: "maintenant désormais nouveau nouvelle nouveaux plus changé",
    moves: "déménagé déménage quitté changé démissionné",
    jests: "rigole plaisante blague plaisanterie",
    works: "tradui corrige écri répèt reformul",
    numbers: "un une deux trois quatre cinq six sept huit neuf dix onze douze cent mille"
  }),
  italian: forms("it", {
    place: "dove dov",
    time: "quando",
    reason: "perché perche",
    count: "quanto quanta quanti quante",
    thing: "chi che cosa cos quale quali come com",
    attributive: "che quale quali quanto quanta quanti quante",
    prepositions:
      "a al allo alla ai agli alle in nel nello nella nei nelle da dal dalla di del della su sul sulla per con tra fra verso presso",
    articles: "il lo la i gli le l un uno una",
    conjunctions: "e ed o ma",
    subordinators: "che se quando come dove chi cui sebbene mentre forse quasi sarebbe avrebbe",
    negators: "non mai né nessuno niente nulla nessuna neanche",
    reasons: "perché perche poiché siccome per",
    changes: "ora adesso ormai nuovo nuova nuovi nuove più cambiato",
    moves: "trasferito trasferita lasciato cambiato licenziato licenziata",
    jests: "scherzo scherzavo scherzando",
    works: "traduc corregg scriv ripet riscriv",
    numbers: "un uno una due tre quattro cinque sei sette otto nove dieci undici dodici cento mille"
  }),
  portuguese: forms("pt", {
    place: "onde aonde",
    time: "quando",
    reason: "porquê",
    count: "quanto quanta quantos quantas",
    thing: "que quem qual quais como",
    attributive: "que qual quais quanto quanta quantos quantas",
    prepositions:
      "em no na nos nas a ao à aos às de do da dos das desde até por para pelo pela com contra entre sobre num numa",
    articles: "o a os as um uma",
    conjunctions: "e ou mas",
    subordinators: "que se quando como onde quem embora enquanto talvez quase seria teria",
    negators: "não nunca jamais nem ninguém nada nenhum nenhuma",
    reasons: "porque por pois devido para",
    changes: "agora já novo nova novos novas atualmente mais troquei",
    moves: "mudei mudado deixei demiti",
    jests: "brincadeira brincando mentira",
    works: "traduz traduc corrig corrij escrev repit reescrev",
    numbers: "um uma dois duas três quatro cinco seis sete oito nove dez onze doze cem mil"
  }),
  russian: forms("ru", {
    place: "где куда откуда",
    time: "когда",
    reason: "почему зачем",
    count: "сколько",
    thing: "кто кого кому кем что чего чем как какой какая какое какие какую каком каким чей чья",
    attributive: "какой какая какое какие какую каком каким чей чья сколько",
    prepositions: "в во на с со из от до у к ко по за под над при через около возле для после",
    articles: "",
    conjunctions: "и или но а",
    subordinators: "что чтобы если когда как где который которая которое бы хотя может будто якобы почти",
    negators: "не нет никогда ни никто ничего нигде",
    reasons: "потому поэтому ведь чтобы из-за",
    changes: "теперь сейчас уже новый новая новое новые больше",
    moves: "переехал переехала переехали уволился уволилась сменил сменила",
    jests: "шучу шутка пошутил пошутила",
    works: "перевед исправ напиш повтор",
    numbers: "один одна два две три четыре пять шесть семь восемь девять десять сто тысяча"
  })
} as const satisfies Readonly<Record<string, FrontedForms>>

/** A language that leaves its interrogatives where the answer stands, and writes without spaces. */
export interface UnmovedForms {
  /** The interrogative, with the noun that it asks about. */
  readonly interrogative: RegExp
  /** Ends a question without an interrogative. */
  readonly yesNo: RegExp
  /** Mark of a question at the end of a sentence. */
  readonly questionEnd: RegExp
  readonly negator: RegExp
  /** Words that may stand behind the answer at the end of its clause. */
  readonly clauseEnd: RegExp
  /** The speaker's possessive before what is asked about, and the speaker as a topic. */
  readonly own: RegExp
  readonly ownTopic: RegExp | undefined
  /** Marks of a topic or subject: another one is meant. */
  readonly topic: RegExp | undefined
  readonly supposed: RegExp
  readonly changes: RegExp
  readonly moves: RegExp
  readonly jests: RegExp
  readonly works: RegExp
}

export const unmovedForms = {
  japanese: {
    interrogative:
      /(?:何|なん|なに|どこ|いつ|誰|だれ|どれ|いくら|いくつ|どんな[^\p{P}]{1,3}?(?=を|が|は)|どの[^\p{P}]{1,3}?(?=を|が|に|で))/u,
    yesNo: /か[?？。\s]*$/u,
    questionEnd: /(?:の(?:です)?)?か?[?？。\s]*$/u,
    negator: /ない|ません|なかっ|ぬ$/u,
    clauseEnd: /^(?:です|でした|だ|である|で)?(?:よ|ね|よね)?$/u,
    own: /^(?:私の|わたしの|僕の|ぼくの|俺の|うちの)?$/u,
    ownTopic: /^(?:私|わたし|僕|ぼく|俺)(?:は|が)/u,
    topic: /[はがも]/u,
    supposed: /もし|たら|なら|かもしれ|らしい|そうです|と(?:言|思|聞)|って(?:言|聞)/u,
    changes: /今は|もう|新しい|変わ|変え|やめ/u,
    moves: /引っ越し(?:た|まし)|辞め|移り/u,
    jests: /冗談|嘘/u,
    works: /翻訳|訳し|直し|書い|書き/u
  },
  chinese: {
    interrogative:
      /(?:什么(?:时候|地方|名字|人|样)?|多少钱|多久|几[点号月岁]|哪(?:里|儿|个|位|些|天|年)?|谁|多少|几|多大)/u,
    yesNo: /吗[?？。\s]*$/u,
    questionEnd: /[呢啊呀吗的]?[?？。\s]*$/u,
    negator: /不|没|别|无/u,
    clauseEnd: /^[了的]?$/u,
    own: /^(?:我们?的)?$/u,
    ownTopic: undefined,
    topic: undefined,
    supposed: /如果|要是|假如|可能|也许|听说|据说|以为|说/u,
    changes: /现在|已经|新|换|改/u,
    moves: /搬[到去来]|搬家了|辞职|换工作/u,
    jests: /开玩笑|骗你/u,
    works: /翻译|修改|润色|写|重复/u
  }
} as const satisfies Readonly<Record<string, UnmovedForms>>
