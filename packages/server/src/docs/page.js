/**
 * The page at `/docs`: the operations of `/openapi.json`, each with a form that sends it, filled with the examples of the
 * document. Everything comes from this service, and every text of the document is shown as text. The key stays in the
 * memory of the page.
 */
import { withCopyButton } from "./copy.js"
import { samples } from "./samples.js"

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
  const [example] = schema.examples ?? []
  if (required === true && example !== undefined) field.value = example
  const hint = description ?? schema.description ?? ""
  const note = [isHeader ? "header" : place, required === true ? "required" : ""].filter((word) => word !== "")
  const isText = !["integer", "number", "boolean"].includes(schema.type)
  return { name, place, field, isText, shown: labelled(`${name} (${note.join(", ")}) ${hint}`, field) }
}

const bodyField = (requestBody) => {
  const schema = requestBody?.content?.["application/json"]?.schema
  if (schema === undefined) return undefined
  const examples = schema.examples ?? [{}]
  const field = element("textarea", { spellcheck: "false" })
  field.value = formatted(examples[0])
  const choice = element(
    "select",
    { "aria-label": "Example" },
    ...examples.map((_, at) => element("option", { value: at }, `Example ${at + 1}`))
  )
  // Before the form hears of it, which then shows the sample.
  choice.addEventListener("input", () => {
    field.value = formatted(examples[Number(choice.value)])
  })
  const shown = examples.length > 1 ? [choice] : []
  return { field, shown: [...shown, labelled("Body (JSON)", field)], schema }
}

/** The call that a filled form stands for. */
const callOf = (operation, parameters, body) => {
  const fields = parameters
    .map(({ field, isText, name, place }) => ({ name, place, isText, value: field.value }))
    .filter(({ place, value }) => place === "path" || value !== "")
  const headers = Object.fromEntries(
    fields.filter(({ place }) => place === "header").map(({ name, value }) => [name, value])
  )
  if (body !== undefined) headers["content-type"] = "application/json"
  const below = fields
    .filter(({ place }) => place === "path")
    .reduce((text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)), operation.path.slice(1))
  const url = new URL(below, root)
  for (const { name, place, value } of fields) if (place === "query") url.searchParams.set(name, value)
  return { operation, fields, url, method: operation.method.toUpperCase(), headers, body: body?.field.value }
}

/** Ids that answers have named last, by what they begin with: `mem_` and the like. */
const knownIds = new Map()
const idPattern = /\b([a-z]+_)[0-9A-Za-z]{20,}/g

/** The example of an id becomes one that there is, where an answer has named one. */
const withKnownIds = (text) => text.replace(idPattern, (id, kind) => knownIds.get(kind) ?? id)

const answerText = async (response) => {
  const text = await response.text()
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n")
  const isJson = response.headers.get("content-type")?.includes("json") === true
  return `${response.status} ${response.statusText}\n${headers}\n\n${isJson ? formatted(JSON.parse(text)) : text}`
}

const folded = (title, ...texts) =>
  element(
    "details",
    {},
    element("summary", {}, title),
    ...texts.map((text) => withCopyButton(element("pre", { tabindex: "0" }, text)))
  )

let language = "curl"

/** The call in the language that was chosen last. */
const sampleOf = (call) => {
  const text = element("pre", { tabindex: "0" })
  const choice = element(
    "select",
    { "aria-label": "Language of the sample" },
    ...Object.keys(samples).map((name) => element("option", {}, name))
  )
  const show = () => {
    choice.value = language
    text.textContent = samples[language](call())
  }
  choice.addEventListener("input", () => {
    language = choice.value
  })
  show()
  return { show, shown: element("div", { class: "sample" }, choice, withCopyButton(text)) }
}

/** What the service answers, by status: what it means, an example, the schema. */
const answersOf = ({ responses }) =>
  Object.entries(responses).map(([status, { content = {}, description }]) => {
    const { example, schema } = content["application/json"] ?? {}
    const texts = [example ?? schema?.examples?.[0], schema].filter((one) => one !== undefined)
    return folded(`${status} ${description ?? ""}`, ...texts.map(formatted))
  })

const operationForm = (operation, keyField) => {
  const parameters = (operation.parameters ?? []).map(parameterField)
  const body = bodyField(operation.requestBody)
  const fields = [...parameters, ...(body === undefined ? [] : [body])].map(({ field }) => field)
  for (const field of fields) field.value = withKnownIds(field.value)
  const answer = element("pre", { role: "status" })
  const sample = sampleOf(() => callOf(operation, parameters, body))
  const form = element(
    "form",
    {},
    ...parameters.map(({ shown }) => shown),
    ...(body?.shown ?? []),
    element("button", { type: "submit" }, "Send"),
    sample.shown,
    answer
  )
  form.addEventListener("input", sample.show)
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const key = keyField.value.trim()
    const { body: text, headers, method, url } = callOf(operation, parameters, body)
    answer.textContent = "Sent ..."
    fetch(url, { method, headers: { ...headers, ...(key !== "" && { authorization: `Bearer ${key}` }) }, body: text })
      .then(answerText)
      .catch((error) => `No answer: ${error.message}`)
      .then((shown) => {
        answer.textContent = shown
        for (const [id, kind] of shown.matchAll(idPattern)) knownIds.set(kind, id)
      })
  })
  return [
    ...described(operation.description ?? ""),
    form,
    element("h3", {}, "Answers"),
    ...answersOf(operation),
    ...(body === undefined ? [] : [folded("Schema of the body", formatted(body.schema))])
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

const menuOf = (sections) =>
  sections.map(({ name, operations }) =>
    element(
      "details",
      {},
      element("summary", {}, name),
      ...operations.map(({ operationId, summary }) => element("a", { href: `#${operationId}` }, summary))
    )
  )

/** Opens the operation that the address names. */
const openNamed = () => {
  const entry = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!(entry instanceof HTMLDetailsElement)) return
  entry.open = true
  entry.scrollIntoView()
}

const showDocument = (contract) => {
  const keyField = document.querySelector("#key")
  document.querySelector("#description").replaceChildren(...described(contract.info.description))
  const operations = operationsOf(contract)
  const sections = contract.tags.map(({ name }) => ({
    name,
    operations: operations.filter(({ tags }) => tags.includes(name))
  }))
  document.querySelector("#menu").replaceChildren(...menuOf(sections))
  document
    .querySelector("#operations")
    .replaceChildren(
      ...sections.map(({ name, operations: own }) =>
        element("section", {}, element("h2", {}, name), ...own.map((operation) => operationEntry(operation, keyField)))
      )
    )
  openNamed()
  addEventListener("hashchange", openNamed)
}

fetch(new URL("openapi.json", root))
  .then((response) => response.json())
  .then((contract) => showDocument(withoutReferences(contract, contract)))
  .catch((error) => {
    document.querySelector("#operations").textContent = `The contract could not be shown: ${error.message}`
  })
