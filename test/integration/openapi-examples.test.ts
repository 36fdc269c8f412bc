/**
 * The examples of the OpenAPI document, one for each operation: they fit the document's schemas, the running service
 * takes them, and what it answers fits the document too.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import { beforeAll, expect, it } from "vitest"
import { evmAddresses, evmKeys } from "../../scripts/devchains/Wallets.ts"
import { callExamples, type ExampleAnswer, type ExampleOperation, type ExampleRoute } from "../support/ExampleCalls.ts"
import { runsOnOneBox } from "../support/OneBox.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

interface Media {
  readonly schema: Readonly<Record<string, unknown>>
  readonly example?: unknown
}
interface Operation extends ExampleOperation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

/** What only money, other people or another's network could have made: nothing has it here, and the answer says so. */
const absent: Readonly<Record<string, string>> = {
  // No payment was made, so each of these is unknown.
  "GET /v1/credits/payments/{id}/receipt": "payment_not_found",
  "GET /admin/payments/receipt": "payment_not_found",
  "GET /admin/refunds": "payment_not_found",
  "POST /admin/refunds": "payment_not_found",
  // Comes without a payment, which is how one learns what to pay.
  "POST /v1/credits/deposit": "payment_required",
  // The grant of the example was signed by another wallet.
  "POST /v1/grants/revoke": "not_grantor",
  // Messages that were given up, and the operator's webhook, which is not configured.
  "POST /v1/webhooks/{id}/deliveries/repeat": "webhook_not_found",
  "POST /admin/webhooks/resend": "webhook_not_found",
  "POST /admin/webhooks/test": "webhook_not_configured",
  "POST /admin/backups/runs": "backup_not_configured",
  "POST /admin/backups/verifications": "backup_not_configured",
  // Of a language model; none is configured.
  "POST /v1/chat": "no_language_model",
  "POST /admin/reread": "no_language_model",
  // There is no language model.
  "POST /admin/consolidations": "consolidation_off",
  "POST /admin/consolidations/{id}/undo": "consolidation_not_found",
  // No key was ever replaced under this public half.
  "POST /admin/attestation-keys/revoke": "key_not_found",
  ...(!runsOnOneBox("backups") && {
    "GET /admin/backups/files": "cluster_backup",
    "GET /admin/backups/copies": "cluster_backup",
    "POST /admin/backups": "cluster_backup",
    "POST /admin/backups/runs": "cluster_backup",
    "POST /admin/backups/verifications": "cluster_backup"
  })
}

const server = useServer({
  environment: {
    ...withoutModel,
    MUNIMENT_ACCOUNT_WEBHOOKS: "any",
    MUNIMENT_PAYMENT_NETWORKS: "base-sepolia",
    MUNIMENT_EVM_PAY_TO: evmAddresses.payTo,
    MUNIMENT_EVM_OPERATOR_KEY: evmKeys.operator,
    // No node: what is to be paid is told without one.
    MUNIMENT_EVM_RPC_URL: "http://127.0.0.1:9"
  }
})
let document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}
let routes: ReadonlyArray<ExampleRoute & { readonly operation: Operation }>
let answers: ReadonlyArray<ExampleAnswer>

beforeAll(async () => {
  document = (await server.call("GET", "/openapi.json", { key: null })).body
  routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }))
  )
  answers = await callExamples(server, routes)
})

const answerOf = ({ operation }: { readonly operation: Operation }): Media =>
  operation.responses["200"]!.content!["application/json"]!

const validatorOf = (schema: object) =>
  new Ajv2020({ strict: false, validateFormats: false }).compile({ ...schema, components: document.components })

it("each parameter of a path or that is required, each body and each answer has an example that fits", () => {
  for (const { name, operation } of routes) {
    const needed = operation.parameters.filter(({ in: place, required }) => place === "path" || required === true)
    const body = operation.requestBody?.content["application/json"].schema
    for (const schema of [...needed.map((parameter) => parameter.schema), ...(body === undefined ? [] : [body])]) {
      expect([name, schema.examples?.length ?? 0]).toEqual([name, expect.toSatisfy((count) => count > 0)])
      const validate = validatorOf(schema)
      for (const example of schema.examples!)
        expect([name, validate(example), validate.errors]).toEqual([name, true, null])
    }
    const { example, schema } = answerOf({ operation })
    const validate = validatorOf(schema)
    expect([name, validate(example), validate.errors]).toEqual([name, true, null])
  }
})

it("the service takes the example of each operation", () => {
  const codes = answers.map(({ name, answer }) => [
    name,
    answer.status === 200 ? "taken" : (answer.body.code ?? "payment_required")
  ])
  expect(codes).toEqual(answers.map(({ name }) => [name, absent[name] ?? "taken"]))
  expect(new Set(answers.map(({ name }) => name))).toEqual(new Set(routes.map(({ name }) => name)))
})

it("what it answers fits the schema of the answer", () => {
  for (const { name, answer } of answers.filter((one) => one.answer.status === 200)) {
    const { schema } = answerOf(routes.find((route) => route.name === name)!)
    const validate = validatorOf(schema)
    expect([name, validate(answer.body), validate.errors]).toEqual([name, true, null])
  }
})
