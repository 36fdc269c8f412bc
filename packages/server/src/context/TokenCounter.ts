/**
 * Counts tokens by the vocabulary o200k_base (OpenAI's models since GPT-4o). It takes 2.4 MB of code and 20 MB of memory,
 * so it is loaded with its first use, which holds the loop for some 200 ms, once.
 *
 * Invariant: no text is read as a token with a meaning of its own, such as `<|endoftext|>`.
 */
import { Effect } from "effect"

export type TokenCounter = (text: string) => number

/** Which vocabulary a caller's model has. */
export type Tokenizer = "o200k_base" | "other"

/** Vocabularies of other models of this size take up to a third more tokens for the same text. */
const otherShare = 3 / 4

/** How many tokens of o200k_base fit into as many of the tokenizer. */
export const countedTokens = (tokens: number, tokenizer: Tokenizer): number =>
  tokenizer === "other" ? Math.floor(tokens * otherShare) : tokens

/** The reverse. */
export const shownTokens = (counted: number, tokenizer: Tokenizer): number =>
  tokenizer === "other" ? Math.ceil(counted / otherShare) : counted

export const tokenCounter: Effect.Effect<TokenCounter> = Effect.map(
  Effect.promise(() => import("gpt-tokenizer/encoding/o200k_base")),
  ({ countTokens, setMergeCacheSize }) => {
    setMergeCacheSize(wordsKept)
    return (text) => countTokens(text, asText)
  }
)

/** Words whose tokens are remembered: common ones take a quarter of the time then. */
const wordsKept = 8_192

const asText = { disallowedSpecial: new Set<string>() }

/** Unusual text takes up to 20 us a character. */
const charactersPerTurn = 4_000

/** Sum of texts; gives way to others between portions. */
export const countAll = Effect.fnUntraced(function* (count: TokenCounter, texts: ReadonlyArray<string>) {
  let [tokens, characters] = [0, 0]
  for (const text of texts) {
    tokens += count(text)
    characters += text.length
    if (characters < charactersPerTurn) continue
    characters = 0
    yield* Effect.yieldNow
  }
  return tokens
})
