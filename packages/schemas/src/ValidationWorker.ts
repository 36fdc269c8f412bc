/**
 * Entry of the validation thread. It answers one request at a time and may be terminated at any moment; it holds
 * only compiled schemas. It has no environment and reads no file.
 */
import { serve } from "@muniment/worker/WorkerEntry"
import { builtinKinds } from "./BuiltinKinds.ts"
import { makeCompiledSchemas, type Outcome } from "./CompiledSchemas.ts"
import { type ValidationReply, type ValidationRequest, validationSoftMillis } from "./ValidationProtocol.ts"

const warmUpRounds = 5

const schemas = makeCompiledSchemas()

const answer = ({ items, schemaTexts }: ValidationRequest): ValidationReply => {
  const started = process.threadCpuUsage()
  const cpuMillis = () => {
    const { system, user } = process.threadCpuUsage(started)
    return (system + user) / 1_000
  }
  const outcomes: Array<Outcome> = []
  let costliest = 0
  for (const { data, schema } of items) {
    const before = cpuMillis()
    // Another of the costliest kind so far has to end within the turn.
    if (outcomes.length > 0 && before + costliest > validationSoftMillis) break
    outcomes.push(schemas.validate(schemaTexts[schema] ?? "", data))
    costliest = Math.max(costliest, cpuMillis() - before)
  }
  return { outcomes, cpuMillis: cpuMillis() }
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
