/**
 * The page at `/docs`: the operations of `/openapi.json`, each with a form that sends it. Everything comes from this
 * service, and every text of the document is shown as text. The key stays in the memory of the page.
 */

/** Where the service is: a proxy may serve it below a path. */
const root = new URL(".", location.href)
const methods = ["get", "post", "patch", "delete"]

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...children)
  return made
}

const labelled = (text, field) => element("label", {}, element("span", {}, text), field)

const formatted = (value) => JSON.stringify(value, undefined, 2)

/** Paragraphs, `code` and **bold** of a description; all else is text. */
const described = (text) =>
  text
    .split("\n\n")
    .map((paragraph) =>
      element(
        "p",
        {},
        ...paragraph
          .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
          .map((part) =>
            part.startsWith("`")
              ? element("code", {}, part.slice(1, -1))
              : part.startsWith("**")
                ? element("b", {}, part.slice(2, -2))
                : part
          )
      )
    )

/** The document with each reference replaced by what it leads to; schemas of the contract have no circles. */
const withoutReferences = (node, whole) => {
  if (Array.isArray(node)) return node.map((item) => withoutReferences(item, whole))
  if (typeof node !== "object" || node === null) return node
  if (typeof node.$ref === "string") {
    const target = node.$ref
      .slice("#/".length)
      .split("/")
      .reduce((at, name) => at[name], whole)
    return withoutReferences(target, whole)
  }
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, withoutReferences(value, whole)]))
}

const parameterField = ({ description, in: place, name, required, schema }) => {
  const isHeader = place === "header"
  const choices = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : undefined)
  const field =
    choices === undefined
      ? element("input", { autocomplete: "off" })
      : element("select", {}, ...["", ...choices].map((choice) => element("option", {}, choice)))
  field.required = required === true
  const hint = description ?? schema.description ?? ""
  const note = [isHeader ? "header" : place, required === true ? "required" : ""].filter((word) => word !== "")
  return { name, place, field, shown: labelled(`${name} (${note.join(", ")}) ${hint}`, field) }
}

const bodyField = (requestBody) => {
  const schema = requestBody?.content?.["application/json"]?.schema
  if (schema === undefined) return undefined
  const examples = schema.examples ?? [{}]
  const field = element("textarea", { spellcheck: "false" })
  field.value = formatted(examples[0])
  const choice = element(
    "select",
    {},
    ...examples.map((_, at) => element("option", { value: at }, `Example ${at + 1}`))
  )
  choice.addEventListener("change", () => {
    field.value = formatted(examples[Number(choice.value)])
  })
  const shown = examples.length > 1 ? [choice] : []
  return { field, shown: [...shown, labelled("Body (JSON)", field)], schema }
}

/** The request that a filled form stands for. */
const requestOf = ({ method, path }, parameters, body, key) => {
  const given = parameters.filter(({ field, place }) => place === "path" || field.value !== "")
  const below = given
    .filter(({ place }) => place === "path")
    .reduce((text, { field, name }) => text.replace(`{${name}}`, encodeURIComponent(field.value)), path.slice(1))
  const url = new URL(below, root)
  for (const { field, name, place } of given) if (place === "query") url.searchParams.set(name, field.value)
  const headers = Object.fromEntries(
    given.filter(({ place }) => place === "header").map(({ field, name }) => [name, field.value])
  )
  if (key !== "") headers.authorization = `Bearer ${key}`
  if (body !== undefined) headers["content-type"] = "application/json"
  return { url, method: method.toUpperCase(), headers, body: body?.field.value }
}

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The same call for a terminal; the key stays out of it. */
const curlOf = ({ body, headers, method, url }) =>
  [
    `curl -X ${method} ${quoted(url.href)}`,
    ...Object.entries(headers).map(([name, value]) =>
      name === "authorization" ? '-H "authorization: Bearer $KEY"' : `-H ${quoted(`${name}: ${value}`)}`
    ),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`])
  ].join(" \\\n  ")

const answerText = async (response) => {
  const text = await response.text()
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n")
  const isJson = response.headers.get("content-type")?.includes("json") === true
  return `${response.status} ${response.statusText}\n${headers}\n\n${isJson ? formatted(JSON.parse(text)) : text}`
}

const folded = (title, text) => element("details", {}, element("summary", {}, title), element("pre", {}, text))

const operationForm = (operation, keyField) => {
  const parameters = (operation.parameters ?? []).map(parameterField)
  const body = bodyField(operation.requestBody)
  const answer = element("pre", { role: "status" })
  const form = element(
    "form",
    {},
    ...parameters.map(({ shown }) => shown),
    ...(body?.shown ?? []),
    element("button", { type: "submit" }, "Send"),
    answer
  )
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const { url, ...request } = requestOf(operation, parameters, body, keyField.value.trim())
    answer.textContent = "Sent ..."
    fetch(url, request)
      .then(answerText)
      .catch((error) => `No answer: ${error.message}`)
      .then((text) => {
        answer.textContent = `${curlOf({ url, ...request })}\n\n${text}`
      })
  })
  const success = operation.responses["200"]?.content?.["application/json"]?.schema
  return [
    ...described(operation.description ?? ""),
    form,
    ...(body === undefined ? [] : [folded("Schema of the body", formatted(body.schema))]),
    ...(success === undefined ? [] : [folded("Schema of the answer", formatted(success))])
  ]
}

const operationEntry = (operation, keyField) => {
  const { method, path, summary } = operation
  const price = operation["x-price-credits"]
  const entry = element(
    "details",
    { id: operation.operationId },
    element(
      "summary",
      {},
      element("b", {}, method.toUpperCase()),
      element("code", {}, path),
      ` ${summary}`,
      element("small", {}, price > 0 ? `${price} credits` : "free")
    )
  )
  entry.addEventListener("toggle", () => {
    if (entry.open && entry.childElementCount === 1) entry.append(...operationForm(operation, keyField))
  })
  return entry
}

const operationsOf = ({ paths }) =>
  Object.entries(paths).flatMap(([path, item]) =>
    methods.filter((method) => item[method] !== undefined).map((method) => ({ ...item[method], method, path }))
  )

const showDocument = (contract) => {
  const keyField = document.querySelector("#key")
  document.querySelector("#description").replaceChildren(...described(contract.info.description))
  const operations = operationsOf(contract)
  const sections = contract.tags.map(({ name }) =>
    element(
      "section",
      {},
      element("h2", {}, name),
      ...operations.filter(({ tags }) => tags.includes(name)).map((operation) => operationEntry(operation, keyField))
    )
  )
  document.querySelector("main").replaceChildren(...sections)
}

fetch(new URL("openapi.json", root))
  .then((response) => response.json())
  .then((contract) => showDocument(withoutReferences(contract, contract)))
  .catch((error) => {
    document.querySelector("main").textContent = `The contract could not be shown: ${error.message}`
  })
