/**
 * Every operation of the OpenAPI document called with the examples that the document gives for its path, its query and
 * its body, in the document's order, on a service of its own. What only a running service can name (a key, a webhook, a
 * session) takes the place of the example of its name.
 */
import type { Answer, ServerCalls } from "./TestServer.ts"

export interface ExampleParameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: { readonly examples?: ReadonlyArray<unknown> }
}

export interface ExampleOperation {
  readonly parameters: ReadonlyArray<ExampleParameter>
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": { readonly schema: { readonly examples?: ReadonlyArray<unknown> } }
    }
  }
}

export interface ExampleRoute {
  /** `GET /v1/memories/{id}` */
  readonly name: string
  readonly operation: ExampleOperation
}

export interface ExampleAnswer {
  readonly name: string
  readonly answer: Answer
}

/** One answer for each example of a body, and one for each operation without a body. */
export const callExamples = async (
  server: ServerCalls,
  routes: ReadonlyArray<ExampleRoute>
): Promise<ReadonlyArray<ExampleAnswer>> => {
  const answers: Array<ExampleAnswer> = []
  let key = ""
  const call = (name: string, operation: ExampleOperation, body: unknown, known: Readonly<Record<string, string>>) => {
    const [method = "", path = ""] = name.split(" ")
    const query = new URLSearchParams()
    let filled = path
    for (const parameter of operation.parameters) {
      const value = known[parameter.name] ?? String(parameter.schema.examples?.[0])
      if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(value))
      else if (parameter.in === "query" && parameter.required === true) query.set(parameter.name, value)
    }
    const target = query.size === 0 ? filled : `${filled}?${query.toString()}`
    const credentials = path.startsWith("/admin") ? server.operatorToken : key
    return server.call(method, target, { key: credentials, ...(body !== undefined && { body }) })
  }
  const walk = async (name: string) => {
    const { operation } = routes.find((route) => route.name === name)!
    const known = await namesOf(server, name, key, answers)
    const { examples = [undefined] } = operation.requestBody?.content["application/json"].schema ?? {}
    for (const body of examples) answers.push({ name, answer: await call(name, operation, body, known) })
  }
  for (const name of first) await walk(name)
  key = answers.find(({ name }) => name === "POST /admin/keys")!.answer.body.secret
  await walk("POST /v1/schemas")
  for (const name of ofMemory) await walk(name)
  // What the example of a lookup asks for.
  const contact = { kind: "contact", data: { email: "ann@example.com", name: "Ann" } }
  await server.call("POST", "/v1/memories", { key, body: { agentId: "assistant", memories: [contact] } })
  const rest = routes.map(({ name }) => name).filter((name) => !answers.some((one) => one.name === name))
  // The document has the end of a webhook before what else can be done with it.
  for (const name of rest.filter((one) => one !== hookEnd)) await walk(name)
  await walk(hookEnd)
  return answers
}

/** The document has the end of a memory before these. */
const ofMemory = ["POST /v1/memories/{id}/feedback", "GET /v1/memories/{id}/history", "POST /v1/memories/{id}/restore"]
const hookEnd = "DELETE /v1/webhooks/{id}"

/** The account of the examples, its key, and the memory whose id they name. */
const first = ["POST /admin/accounts", "POST /admin/keys", "POST /admin/import"]

/** Values of parameters that the service chose a moment ago. */
const namesOf = async (
  server: ServerCalls,
  name: string,
  key: string,
  answers: ReadonlyArray<ExampleAnswer>
): Promise<Readonly<Record<string, string>>> => {
  const bodyOf = (made: string) => answers.find((one) => one.name === made)?.answer.body
  if (name.includes("/v1/webhooks/{id}")) return { id: bodyOf("POST /v1/webhooks").webhook.id }
  if (name === "DELETE /v1/keys/{id}") return { id: bodyOf("POST /v1/keys").key.id }
  if (name === "DELETE /admin/keys/{id}") {
    const { body } = await server.call("POST", "/v1/keys", { key, body: { label: "to be revoked" } })
    return { id: body.key.id }
  }
  if (name === "DELETE /admin/sessions/{id}") {
    const [, link] = bodyOf("POST /admin/console-links").link.url.split("#link=")
    await server.call("POST", "/console/session", { key: null, body: { link } })
    return { id: (await server.asOperator("GET", "/admin/sessions")).body.sessions[0].id }
  }
  return {}
}
