/**
 * Detects text that gives orders to an assistant or to the memory store. A heuristic with known gaps, after the fence and
 * the check of sources: what it detects is never stored; what it misses must still be supported by a message.
 *
 * Instructions that people give about themselves ("please remember that I am allergic to nuts", "always answer
 * me in French") are memories, not attacks, and pass.
 */
import { oneOf, phrases } from "@muniment/language/text/OneOf"
import { visibleText } from "@muniment/language/text/VisibleText"
import { Result } from "effect"
import { Base64, Hex } from "effect/encoding"

/** Texts are checked in pieces of this length, each in a few milliseconds. */
const pieceLength = 1_000
/** Overlap of pieces; longer than the longest match of a pattern. */
const pieceOverlap = 200

/** Splits a long text; each piece takes bounded time. */
export const instructionPieces = (text: string): ReadonlyArray<string> => {
  const count = Math.max(1, Math.ceil((text.length - pieceOverlap) / (pieceLength - pieceOverlap)))
  return Array.from({ length: count }, (_, index) => {
    const start = index * (pieceLength - pieceOverlap)
    return text.slice(start, start + pieceLength)
  })
}

/** Checks the first piece only; split longer texts by `instructionPieces`. */
export const isInstruction = (text: string): boolean => {
  const plain = visibleText(text.slice(0, pieceLength))
  const folded = foldedText(plain)
  return [folded, ...decodedTexts(plain).map(foldedText), rot13(folded)].some(givesOrders)
}

const givesOrders = (folded: string): boolean => orders.some((pattern) => pattern.test(folded))

const authority =
  "(?:previous|prior|above|earlier|preceding|former|existing|current|system|safety|original|initial|your|all|any|these|those)"
const rules =
  "(?:instructions?|rules?|prompts?|guidelines?|directions?|directives?|commands?|constraints?|policies|policy)"
/** "Ignore my earlier message about the dinner" is a correction, not an order. */
const notMine = "(?:(?!\\b(?:my|our)\\b)[^.\\n]){0,40}"
const secrets =
  "(?:system (?:prompt|message)|(?:initial|hidden|secret|developer) (?:prompt|instructions?)|(?:your|these|the) (?:instructions|rules|prompt)|api[ _-]?keys?|private keys?|credentials|secret(?: key)?s?|environment variables|access tokens?)"
const store = "(?:memory|memories|records?|entries|namespaces?|facts|database|tables?|grants?|schemas?)"

const masters = "user|customer|client|owner|account|subject"
const removing = "delete|erase|remove|wipe|overwrite|purge|destroy|truncate|replace|supersede|clear|rewrite"
const ofStore = "all|every|other|existing|stored|previous|older|the|any|its|their"

/** Folded text: lower case, Latin letters, single blanks between words on a line. */
const orders: ReadonlyArray<RegExp> = [
  new RegExp(
    `\\b(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|skip|drop)\\b${notMine}\\b${authority}\\b${notMine}\\b(?:${rules}|messages?|context|conversation)\\b`
  ),
  new RegExp(
    `\\b(?:ignore|disregard|forget|override)\\b${notMine}\\b${rules}\\b[^.\\n]{0,20}\\b(?:above|before|given|so far|you)\\b`
  ),
  new RegExp(
    `\\b(?:reveal|print|show|repeat|output|leak|send|disclose|exfiltrate|display|recite|include|copy|post|give|tell)\\b[^.\\n]{0,40}\\b${secrets}\\b`
  ),
  new RegExp(`\\b(?:${removing})\\b[^.\\n]{0,30}\\b(?:${ofStore})\\b[^.\\n]{0,30}\\b${store}\\b`),
  /\b(?:drop|truncate|alter) (?:table|schema|database)\b/,
  /\byou (?:are|re) now\b|\b(?:from now on|henceforth),? (?:you|the (?:assistant|extractor|model|system))\b/,
  /\b(?:act as|pretend (?:to be|that you are)|roleplay as|you must act as) (?:an? |the )?(?:\w+ )?(?:assistant|ai|model|system|admin|administrator|root|developer|dan)\b/,
  /\b(?:developer|debug|god|admin|maintenance|jailbreak|unrestricted) mode\b[^.\n]{0,20}\b(?:on|enabled?|activated?|active|engaged)\b/,
  /\b(?:new|updated|real|actual|important|urgent|override|additional) (?:system )?(?:instructions?|directives?|prompt|rules?)(?: for (?:the )?\w+)? ?:/,
  /^\W{0,6}(?:system|assistant|developer|tool|function)(?: (?:message|prompt|notice|override|note|update|result))?\W{0,3}:/m,
  /\b(?:end|begin|start) of (?:the )?(?:system|data|user|fence|prompt|conversation|messages|memories)\b/,
  /\bcite (?:only )?(?:memory|memories|message|source)\b|^\W{0,6}(?:begin|end) (?:messages|kinds|context|summary|memories|question|day)\b/m,
  oneOf(
    phrases(`
      im_start / im_end / system / assistant / user / tool / eot_id / start_header_id / end_header_id / endoftext / begin_of_text
      start_of_turn / end_of_turn / s / sys / script / iframe / img / tool_call / tool_response / function_calls? / invoke / antml
    `),
    { before: String.raw`<\|?/?`, after: String.raw`\b` }
  ),
  /<<\/?sys>>|\[\/?(?:inst|system|tool_calls|available_tools|tool_results)\]/,
  /"?(?:tool_calls?|function_calls?|tool_use|tool_choice)"? ?[:=(]|"(?:name|function)" ?: ?"[\w.]+" ?,? ?"(?:arguments|parameters|input)" ?:/,
  /\b(?:call|invoke|use|execute|run|trigger) (?:the |your )?[`"']?[\w.]+[`"']? (?:tool|function|endpoint|command|api)\b/,
  oneOf(phrases("respond / reply / answer / output / return / emit / write / produce"), {
    before: String.raw`\b`,
    after: String.raw` (?:only |exactly |verbatim )?(?:with |in )?(?:only |exactly )?(?:the following|this|a|an|an empty|valid)? ?(?:json|"?\{|object|list of memories)`
  }),
  /"(?:memories|candidates|citations|supported|confidence)" ?: ?(?:\[|\{|true|false|\d)/,
  oneOf(phrases("store / save / add / create / insert / record / write / emit / extract / register / keep"), {
    before: String.raw`\b`,
    after: String.raw` (?:exactly |only |also )?(?:a|an|one|the following|this|these|two|new|\d+) (?:new |extra |false |hidden |permanent )*(?:memory|memories|fact|facts|record|entry|candidates?)\b`
  }),
  /\bset (?:the |its |their )?(?:confidence|kind|role|citations?|supported)\b[^.\n]{0,20}\b(?:to|as|=)/,
  // People say "I" and "my"; "the user's name is now" is written for a machine.
  new RegExp(
    `\\bthe (?:${masters}|human)(?:'?s)? (?:[\\w-]+ ){0,3}(?:is|has been|was|shall be|should be|must be|has|will be) (?:now|henceforth|changed|updated|set|replaced|hereby|from now on)\\b`
  ),
  new RegExp(
    `\\b(?:update|change|set|correct|replace|modify) the (?:${masters})(?:'?s)? (?:\\w+ ){0,2}(?:profile|memory|name|record|email|e-mail|address|password|wallet|iban|account|preferences?|data)\\b`
  ),
  /!\[[^\]\n]*\]\(|\bjavascript:|\bon(?:error|load|click) ?=|\bdata:text\/html/,
  // The first pattern in other languages.
  /\bignor(?:a|e|ad|en|ar|ez|er|iere|ieren|iert)\b[^.\n]{0,40}\b(?:instrucciones|instrucoes|instructions|anweisungen|regeln|istruzioni|reglas|regras|consignes|regles)\b/,
  oneOf(
    phrases(
      "instrucciones / instructions / anweisungen / istruzioni / instrucoes / instrukcje / instructies / talimatlari"
    ),
    {
      before: String.raw`\b(?:olvida|oublie[zr]?|vergiss|dimentica|esqueca|zapomnij|vergeet|negeer|unut|yoksay)\b[^.\n]{0,40}\b`,
      after: String.raw`\b`
    }
  ),
  /\b(?:onceki|yukaridaki)\b[^.\n]{0,30}\btalimat\w*[^.\n]{0,20}\b(?:yok say|unut|dikkate alma)|\bzignoruj\b[^.\n]{0,40}\b(?:instrukcje|polecenia)\b/,
  /(?:忽略|无视|忘记|忽視|無視)[^。\n]{0,20}(?:指令|指示|提示|规则|規則|說明|说明)|(?:指示|命令|プロンプト|ルール)[^。\n]{0,12}(?:無視|忘れ)/,
  /(?:지시|명령|규칙)[^.\n]{0,12}(?:무시|잊)|(?:игнорируи|забудь|проигнорируи)[^.\n]{0,40}(?:инструкц|указани|правил)/,
  /(?:تجاهل|انس)[^.\n]{0,40}(?:التعليمات|الاوامر|الأوامر)|(?:निर्देश|नियम)[^.\n]{0,20}(?:अनदेखा|भूल)/
]

/** Most segments that are decoded: no honest text has more. */
const encodedSegmentsMax = 8

const zipped = (from: string, to: string): ReadonlyArray<readonly [string, string]> =>
  [...from].map((letter, index) => [letter, to[index] ?? letter])

/** Cyrillic and Greek letters, and digits, that pass for Latin ones; only inside words that have Latin letters too. */
const lookalikes: ReadonlyMap<string, string> = new Map([
  ...zipped("аеорсхуіѕјһԁոкмтвнгѵԛԝɡıℓ", "aeopcxyisjhdnkmtbhrvqwgil"),
  ...zipped("αεορινυκτηχγωσ013457$@", "aeopivuktnxywooieastsa")
])
const mixedWord = /[\p{L}\p{M}\d$@]*[a-z][\p{L}\p{M}\d$@]*/gu
/** Letters spelled apart, as in `i g n o r e`. */
const spelledApart = /\b(?:[a-z][ ._*-]){3,}[a-z]\b/g

export const foldedText = (text: string): string =>
  text
    .normalize("NFKD")
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\u0300-\u036f]/gu, "")
    .toLowerCase()
    .replaceAll(/[’‘ʼ`´]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(mixedWord, (word) => word.replaceAll(/./gu, (letter) => lookalikes.get(letter) ?? letter))
    .replaceAll(spelledApart, (word) => word.replaceAll(/[ ._*-]/g, ""))
    .replaceAll(/[^\S\n]+/g, " ")
    .normalize("NFC")

/** Base64 (also the URL form), hex and percent-encoded segments that decode to text. */
export const decodedTexts = (text: string): ReadonlyArray<string> => {
  const base64 = (text.match(/[\w+/-]{20,}={0,2}/g) ?? []).slice(0, encodedSegmentsMax).flatMap((segment) => {
    const unpadded = segment.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/")
    return readable(Base64.decodeString(unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, "=")))
  })
  const hex = (text.match(/(?:[0-9a-f]{2}[ :]?){12,}/gi) ?? [])
    .slice(0, encodedSegmentsMax)
    .flatMap((segment) => readable(Hex.decodeString(segment.replaceAll(/[ :]/g, ""))))
  const percent = (text.match(/(?:[\w.~-]*%[0-9a-f]{2}){3,}[\w.~-]*/gi) ?? [])
    .slice(0, encodedSegmentsMax)
    .map((segment) =>
      segment.replaceAll(/%([0-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    )
  return [...base64, ...hex, ...percent]
}

/** Undefined: not encoded text. */
const readable = (decoded: Result.Result<string, unknown>): ReadonlyArray<string> =>
  Result.isSuccess(decoded) && !/[\ufffd]|[^\P{Cc}\s]/u.test(decoded.success) ? [decoded.success] : []

/** Expects folded text. */
export const rot13 = (folded: string): string =>
  folded.replaceAll(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97))
