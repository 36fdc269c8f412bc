/**
 * English words whose forms share no stem: verbs (went, gone), plurals (women), everyday names of family (mum, kids).
 * Porter's algorithm only cuts endings, so a question with "go" would miss a memory with "went"; and it stems some
 * short words wrongly (dies, goes). Forms that are as often another word are left out: rose, wound, bit, lay, lives.
 */
import { stemmer } from "stemmer"

/** Groups of forms; the first word of a group replaces the others. */
const VERBS =
  "become became|begin began begun|bend bent|bite bitten|bleed bled|blow blew blown|break broke broken|breed bred|" +
  "bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came|creep crept|" +
  "deal dealt|die died dying|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|" +
  "feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|" +
  "freeze froze frozen|give gave given|go goes went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|" +
  "keep kept|know knew known|lead led|leap leapt|learn learnt|leave left|lend lent|lie lying|lose lost|make made|mean meant|" +
  "meet met|mislead misled|mistake mistook mistaken|overcome overcame|pay paid|ride rode ridden|ring rang rung|" +
  "rise risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn|shake shook shaken|shine shone|" +
  "shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|smell smelt|" +
  "speak spoke spoken|spend spent|spill spilt|spin spun|spoil spoilt|spring sprang sprung|stand stood|steal stole stolen|" +
  "stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|" +
  "tear tore torn|tell told|think thought|throw threw thrown|tie tied tying|understand understood|undertake undertook undertaken|" +
  "wake woke woken|wear wore worn|weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written"
const NOUNS =
  "foot feet|goose geese|half halves|knife knives|man men|mouse mice|person people|shelf shelves|thief thieves|" +
  "tooth teeth|wife wives|wolf wolves|woman women|" +
  "child children kid kids|mother mom mum mommy mummy mama|father dad daddy papa|" +
  "grandmother grandma granny nan|grandfather grandpa granddad grandad"

const baseOf: ReadonlyMap<string, string> = new Map(
  `${VERBS}|${NOUNS}`.split("|").flatMap((group) => {
    const [base = "", ...forms] = group.split(" ").map((word) => stemmer(word))
    return forms.map((form) => [form, base] as const)
  })
)

/** Past forms of verbs: went, told. */
export const irregularPasts: ReadonlyArray<string> = VERBS.split("|").flatMap((group) => group.split(" ").slice(1))

/** The base form's stem. Takes a stem, so it also applies to stored tokens. */
export const baseStem = (stem: string): string => baseOf.get(stem) ?? stem
