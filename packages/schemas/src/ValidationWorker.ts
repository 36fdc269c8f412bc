/**
 * Entry of the validation thread. It answers one request at a time and may be terminated at any moment; it holds
 * only compiled schemas. It has no environment and reads no file.
 */
import { serve } from "@muniment/worker/WorkerEntry"
import { builtinKinds } from "./BuiltinKinds.ts"
import { makeCompiledSchemas, type Outcome } from "./CompiledSchemas.ts"
import { tooSlow, type ValidationRequest, validationSoftDeadlineMillis } from "./ValidationProtocol.ts"

const warmUpRounds = 5

const schemas = makeCompiledSchemas()

const answer = ({ items, schemaTexts }: ValidationRequest): ReadonlyArray<Outcome> => {
  const startedMillis = performance.now()
  return items.map(({ data, schema }) =>
    performance.now() - startedMillis > validationSoftDeadlineMillis
      ? tooSlow()
      : schemas.validate(schemaTexts[schema] ?? "", data)
  )
}

// The first compilations take ten times as long as later ones: they happen before the first request.
for (const { schema } of builtinKinds) {
  for (let round = 0; round < warmUpRounds; round++) {
    const draft = round % 2 === 0 ? {} : { $schema: "http://json-schema.org/draft-07/schema#" }
    makeCompiledSchemas().validate(JSON.stringify({ ...draft, ...JSON.parse(schema) }), {})
  }
  schemas.validate(schema, {})
}
serve(answer)
