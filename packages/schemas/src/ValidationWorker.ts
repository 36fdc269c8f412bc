/**
 * Entry of the validation thread. It answers one request at a time and may be terminated at any
 * moment; it holds nothing but compiled schemas. It has no environment and reads no file.
 */
import { type MessagePort, workerData } from "node:worker_threads"
import { builtinKinds } from "./BuiltinKinds.ts"
import { makeCompiledSchemas } from "./CompiledSchemas.ts"
import {
  tooSlow,
  type ValidationRequest,
  validationSoftDeadlineMillis,
  type WorkerMessage
} from "./ValidationProtocol.ts"

const warmUpRounds = 5

const { port }: { readonly port: MessagePort } = workerData
const schemas = makeCompiledSchemas()

const say = (message: WorkerMessage) => port.postMessage(message)

const answer = ({ items, schemaTexts }: ValidationRequest): WorkerMessage => {
  const startedMillis = performance.now()
  const outcomes = items.map(({ data, schema }) =>
    performance.now() - startedMillis > validationSoftDeadlineMillis
      ? tooSlow()
      : schemas.validate(schemaTexts[schema] ?? "", data)
  )
  return { kind: "outcomes", outcomes }
}

// The first compilations cost ten times the later ones: they happen before the first request.
for (const { schema } of builtinKinds) {
  for (let round = 0; round < warmUpRounds; round++) {
    const draft = round % 2 === 0 ? {} : { $schema: "http://json-schema.org/draft-07/schema#" }
    makeCompiledSchemas().validate(JSON.stringify({ ...draft, ...JSON.parse(schema) }), {})
  }
  schemas.validate(schema, {})
}
port.on("message", (request: ValidationRequest) => say(answer(request)))
say({ kind: "ready" })
