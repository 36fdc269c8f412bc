/**
 * The language of a text in Latin script, by its function words and letters, and the stop words of a query. English is
 * the answer without evidence. A wrong answer costs little: a document is stemmed by its language, and a query looks
 * for the stems of every language (`LanguageStems`).
 *
 * Invariant: deterministic, linear in the text. Other scripts need no answer: their words tell the stemmer.
 */

/**
 * Stop words, removed from queries only: documents keep them, so that a query of stop words alone still matches.
 * Folded and unstemmed. "may" is not among them, because in memories it is a month far more often than a verb.
 */
export const stopWords: ReadonlySet<string> = new Set(
  (
    "a about above after again against all also am an and any are as at be because been before being below between " +
    "both but by can could did do does doing don down during each else ever few for from further get gets got had has " +
    "have having he her here hers herself him himself his how i if in into is isn it its itself just let like ll m me " +
    "might mine more most must my myself no nor not now of off on once one only or other our ours ourselves out over " +
    "own please re s same shall she should so some such t tell than that the their theirs them themselves then there " +
    "these they this those through to too under until up upon us ve very was we were what whats when where which while " +
    "who whom whose why will with would you your yours yourself yourselves"
  ).split(" ")
)

// Written as a negation, so that the class also covers control characters.
const ASCII = /^[^\u0080-\u{10ffff}]*$/u
/** Latin, Greek and Cyrillic diacritics, Hebrew points, Arabic vowel marks. */
const DIACRITICS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]/gu
/** Letters that NFKD does not decompose although they are often typed in ASCII. */
const UNDECOMPOSED = /[ßæœøđłıþðς]/gu
const DECOMPOSED: ReadonlyMap<string, string> = new Map(
  Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l", ı: "i", þ: "th", ð: "d", ς: "σ" })
)

/** The folded form of a text: compatibility forms, lower case, no diacritics. Indic and Kana marks are kept. */
export const foldWord = (text: string): string =>
  // Lower-cased first, because "İ" decomposes only then, and last, because forms such as "ℌ" become upper case.
  ASCII.test(text)
    ? text.toLowerCase()
    : text
        .toLowerCase()
        .normalize("NFKD")
        .replace(DIACRITICS, "")
        .normalize("NFC")
        .toLowerCase()
        .replace(UNDECOMPOSED, (letter) => DECOMPOSED.get(letter) ?? letter)

export const latinLanguages = ["german", "spanish", "french", "italian", "portuguese"] as const
export type LatinLanguage = (typeof latinLanguages)[number]
export type TextLanguage = LatinLanguage | "english"

/**
 * Function words by language: articles, pronouns, prepositions, auxiliaries and question words, with their accents. They
 * tell the language of a text in Latin script, and are stop words of a query in that language. English has its own list
 * (`StopWords`), which existing rankings rest on.
 */
const functionWords = {
  german:
    "der die das den dem des ein eine einen einem einer eines kein keine keinen und oder aber auch als am an auf aus bei " +
    "bis da damit dann dass daß denn doch dort durch er sie es ich du wir ihr mich mir dich dir ihm ihn ihnen uns euch " +
    "mein meine meinen meinem meiner dein deine deinen sein seine seinen seinem seiner ihre ihren ihrem ihrer unser " +
    "unsere unseren unserem für gegen hat hatte hatten habe haben bin bist ist sind war waren wird werden wurde wurden " +
    "im in ins mit nach nicht nichts noch nur ob ohne sehr sich so über um unter vom von vor wann warum was weil wenn " +
    "wer wen wem wessen wie wo woher wohin welche welcher welches welchem welchen zu zum zur zwischen schon seit man " +
    "diese dieser dieses diesem diesen jede jeder jedes jeden jedem kann können muss müssen soll will möchte etwas",
  spanish:
    "el la los las lo un una unos unas y o u pero de del al a ante con contra desde en entre hacia hasta para por según " +
    "sin sobre tras que qué quien quién quienes cual cuál cuáles cuando cuándo cuanto cuánto cuántos cuántas como cómo " +
    "donde dónde porque si no ni muy más también yo tú él ella ellos ellas nosotros usted ustedes me te se le les nos " +
    "mi mis tu tus su sus nuestro nuestra nuestros este esta estos estas ese esa esos esas aquel esto eso es son era eran " +
    "fue fueron ser está están estaba estoy soy eres hay ha han he hemos había tiene tienen tengo algo alguien",
  french:
    "le la les l un une des du de d et ou mais où au aux à avec chez contre dans depuis en entre par pour sans sous sur " +
    "vers que qu qui quoi quel quelle quels quelles quand comment combien pourquoi si ne n pas plus très aussi je j tu il " +
    "elle on nous vous ils elles me m te t se s lui leur leurs y mon ma mes ton ta tes son sa ses notre nos votre vos ce " +
    "c cet cette ces cela ça est sont était étaient être été suis es sommes êtes a ont ai as avons avez avait avaient " +
    "fait faut chaque quelqu comme donc car même",
  italian:
    "il lo la i gli le l un uno una e ed o ma di del dello della dei degli delle dell a ad al allo alla ai agli alle all " +
    "da dal dalla dai dalle dall in nel nello nella nei negli nelle nell con col su sul sulla sui sulle per tra fra che " +
    "chi cui quale quali quando quanto quanti quante come dove dov perché se non più anche molto io tu lui lei noi voi " +
    "loro mi ti si ci vi ne mio mia miei mie tuo tua suo sua suoi sue nostro nostra questo questa questi queste quello " +
    "quella quelli è sono era erano essere sei siamo ho hai ha hanno abbiamo aveva fa ogni sotto sopra",
  portuguese:
    "o a os as um uma uns umas e ou mas de do da dos das em no na nos nas num numa ao aos à às com contra desde entre até " +
    "para por pelo pela pelos pelas sem sob sobre que quem qual quais quando quanto quantos quantas como onde porque se " +
    "não nem já muito mais também eu tu ele ela nós você vocês eles elas me te lhe meu minha meus minhas teu tua seu sua " +
    "seus suas nosso nossa este esta estes estas esse essa isso isto aquele aquela é são era eram foi foram ser está estão " +
    "estava sou há tem têm tenho tinha todos todas alguém",
  russian:
    "и в во не что он она оно они на я с со как а то все всё так его но да ты к ко у же вы за бы по только её ее мне было " +
    "был была были вот от меня ещё нет о об обо из ему когда даже ну ли если уже или ни быть него до вас вам там потом " +
    "себя может тут где есть надо ней для мы тебя их чем сам чтобы без под будет тогда кто кого кому чего чей этот эта " +
    "это эти этого этой того тот та те какой какая какое какие каким каких ним им ими здесь один при над через про них " +
    "мой моя моё мои твой наш ваш свой свою куда откуда почему зачем сколько который очень из-за возле",
  arabic:
    "في من إلى الى على عن مع بلا بين تحت فوق عند قبل بعد حتى منذ هو هي هم هن أنا انا أنت نحن هذا هذه ذلك تلك هؤلاء " +
    "الذي التي الذين ما ماذا متى أين اين كيف لماذا كم أي اي هل لا لم لن ليس قد كان كانت يكون إن ان أن و أو او ثم لكن " +
    "كل بعض غير له لها لهم به بها فيه فيها منه منها عليه عليها",
  hindi:
    "का के की को से में पर ने और या एक यह वह ये वे इस उस इन उन जो कि तो ही भी है हैं था थी थे हो होता होती होते हुआ हुई " +
    "कर करता करती करते किया मैं हम तुम आप मेरा मेरी मेरे हमारा उसका उसकी उसके उसने हमने अपना अपनी अपने क्या कौन किस किसने " +
    "किसका किसके किसे किन कहाँ कब कैसे क्यों कितना कितने कितनी लिए साथ पास नहीं न वाला वाली वाले सी सा गया गई गए रहा रही रहे",
  chinese:
    "的 了 在 是 我 我们 你 你们 他 她 它 他们 她们 这 那 这个 那个 哪 哪个 哪些 哪里 哪儿 哪位 谁 什么 怎么 为什么 几 多少 " +
    "吗 呢 吧 啊 着 过 得 地 和 与 或 也 都 就 还 不 没 没有 有 要 会 被 把 从 到 对 为 因 因为 所以 一 一个 个 些",
  japanese:
    "の に は を た が で て と し れ さ ある いる も する から な こと として い や なっ ない この ため その あっ よう また もの " +
    "という あり まで られ なる へ か だ これ によって により おり より による ず なり られる において ば なかっ なく しかし について " +
    "せ だっ その後 できる それ う ので なお のみ でき き つ における および いう さらに でも ら たり その他 に関する たち ます ん なら " +
    "に対して です でし まし 誰 何 どこ いつ どれ どの なぜ どう です ました ませ か"
} as const

type Language = keyof typeof functionWords

const foldedWords = (language: Language): ReadonlySet<string> =>
  new Set(functionWords[language].split(/[ -]/).map(foldWord))

const wordsByLanguage = Object.fromEntries(
  (Object.keys(functionWords) as ReadonlyArray<Language>).map((language) => [language, foldedWords(language)])
) as Readonly<Record<Language, ReadonlySet<string>>>

const ENGLISH: number = latinLanguages.length

/** Function words of other languages that are content words of English. */
const englishToo = new Set(
  "also bin car come den die fa fait hat kin la las los man mit par per plus son sole sur tout war".split(" ")
)

/** By folded word: what one occurrence says for each of `latinLanguages`, then English. A shared word is shared out. */
const evidence: ReadonlyMap<string, Float64Array> = (() => {
  const english = stopWords.union(englishToo)
  const sets = [...latinLanguages.map((language) => wordsByLanguage[language]), english]
  return new Map(
    [...new Set(sets.flatMap((set) => [...set]))].map((word) => {
      const owners = sets.filter((set) => set.has(word)).length
      return [word, Float64Array.from(sets, (set) => (set.has(word) ? 1 / owners : 0))]
    })
  )
})()

/** Letters and ends of words that are common in one language and rare in the others; they decide between relatives. */
const spellings: Readonly<Record<LatinLanguage, RegExp>> = {
  german: /[äöüß]|sch|cht|ck|(?:ung|heit|keit|ten|tet)(?!\p{L})/gu,
  spanish: /[ñ¿¡]|(?:ción|dad|ll[oa]s?|[aeiou]jo|ue\p{L}+|ie\p{L}+[oa])(?!\p{L})/gu,
  french:
    /[œèêçâîû]|eau|(?<!\p{L})[ldnsjcm]['’](?=[aeiouyhéèê])|(?:[aeou]ux|ait|ent|ez|eurs?|euse|ette|ique|oi[rtx]?|ois|és?|ées?)(?!\p{L})/gu,
  italian:
    /[àìòù](?!\p{L})|gli|zz|cch|(?:[^qg]u?(?:re|tti?|tto|tta|zione|iamo|lla|llo|nno)|[aeo][cdglmnrtv]i|[^aeiou]e)(?!\p{L})/gu,
  portuguese: /[ãõ]|lh|nh|ç|(?:ou|eu|em|am|ões|ção|ei|agem|im|eiro|eira)(?!\p{L})/gu
}
const SPELLING_WEIGHT = 0.25
/** Least evidence for a language other than English. */
const EVIDENCE_MIN = 0.5
/** Words of a text that are read to find its language, and characters to find its spelling. */
const WORDS_MAX = 256
const SPELLED_MAX = 1_024

/** `words`: of the text, folded. */
export const languageOf = (text: string, words: ReadonlyArray<string>): TextLanguage => {
  const sums = new Float64Array(ENGLISH + 1)
  const read = Math.min(words.length, WORDS_MAX)
  for (let word = 0; word < read; word++) {
    const said = evidence.get(words[word]!)
    if (said !== undefined) for (let at = 0; at <= ENGLISH; at++) sums[at]! += said[at]!
  }
  const english = sums[ENGLISH]!
  if (!sums.some((sum) => sum > english)) return "english"
  const spelled = text.slice(0, SPELLED_MAX).toLowerCase().normalize("NFC")
  for (const [at, language] of latinLanguages.entries()) {
    if (sums[at]! > 0) sums[at]! += SPELLING_WEIGHT * (spelled.match(spellings[language])?.length ?? 0)
  }
  const best = latinLanguages.reduce((found, _, at) => (sums[at]! > sums[found]! ? at : found), 0)
  return sums[best]! > english && sums[best]! >= EVIDENCE_MIN ? latinLanguages[best]! : "english"
}

/** Whether a folded word of a query in `language` is a stop word; in other scripts, whatever the language. */
export const isStopWord = (word: string, language: TextLanguage): boolean =>
  stopWords.has(word) || (language !== "english" && wordsByLanguage[language].has(word)) || otherScripts.has(word)

const otherScripts: ReadonlySet<string> = new Set(
  (["russian", "arabic", "hindi", "chinese", "japanese"] as const).flatMap((language) => [...wordsByLanguage[language]])
)

const letters = /\p{L}/gu
const latinLetters = /\p{Script=Latin}/gu
const words = /[\p{L}\p{M}]+/gu
/** One function word of another language may be part of a name: "del Toro". */
const functionWordsMin = 2

/**
 * Whether a text is plainly not English: for models of English alone, whose vectors say nothing about it. Letters tell
 * other scripts, function words the languages that `Language` knows; a text of which neither is certain counts as English.
 *
 * Invariant: deterministic, linear in the text.
 */
export const isForeign = (text: string): boolean => {
  const all = text.match(letters)?.length ?? 0
  const latin = text.match(latinLetters)?.length ?? 0
  if (2 * latin < all) return true
  const folded = (text.match(words) ?? []).map(foldWord)
  const language = languageOf(text, folded)
  if (language === "english") return false
  return folded.filter((word) => isStopWord(word, language) && !stopWords.has(word)).length >= functionWordsMin
}
