/**
 * The port `StructuredModel` answered by a function of the test. Replies are decoded with the schema of
 * the request as a real model's are; one that does not match is the failure `malformed`.
 */
import { Effect, Layer, Schema } from "effect"
import { ModelFailure, StructuredModel, type StructuredRequest } from "@muniment/models/llm/StructuredModel"

export interface SeenRequest {
  readonly account: string
  readonly purpose: "extraction" | "answer"
  readonly system: string
  readonly prompt: string
}

export type Reply = (request: SeenRequest) => unknown

/** `seen` collects requests in the order of their arrival. A reply that is a `ModelFailure` fails. */
export const scriptedModel = (reply: Reply, seen: Array<SeenRequest> = []): Layer.Layer<StructuredModel> =>
  Layer.succeed(StructuredModel, {
    name: "scripted",
    generate: <A>(request: StructuredRequest<A>) => {
      seen.push(request)
      const value = reply(request)
      return value instanceof ModelFailure
        ? Effect.fail(value)
        : Schema.decodeUnknownEffect(request.schema)(value).pipe(
            Effect.mapError(() => new ModelFailure({ reason: "malformed", message: "no match" }))
          )
    }
  })

/** The JSON values of a fenced section, as a model reads them. */
export const sectionOf = (prompt: string, name: string): ReadonlyArray<unknown> => {
  const code = codeOf(prompt)
  const [, body] = prompt.split(`BEGIN ${name} ${code}\n`)
  const lines = body?.split(`END ${name} ${code}`)[0]?.trimEnd() ?? ""
  return lines === "" ? [] : lines.split("\n").map((line): unknown => JSON.parse(line))
}

export const codeOf = (prompt: string): string => /^The code of this request is (\S+)\./.exec(prompt)?.[1] ?? ""

/** What stands outside of all fenced sections. */
export const outsideOf = (prompt: string): string => {
  const code = codeOf(prompt)
  return prompt
    .split("\n")
    .reduce<{ readonly kept: ReadonlyArray<string>; readonly inside: boolean }>(
      ({ kept, inside }, line) => {
        if (line.startsWith("BEGIN ") && line.endsWith(` ${code}`)) return { kept: [...kept, line], inside: true }
        if (line.startsWith("END ") && line.endsWith(` ${code}`)) return { kept: [...kept, line], inside: false }
        return inside ? { kept, inside } : { kept: [...kept, line], inside }
      },
      { kept: [], inside: false }
    )
    .kept.join("\n")
    .replaceAll(code, "<code>")
}
