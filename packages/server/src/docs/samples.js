/**
 * A call of the contract as a sample to copy: curl, TypeScript, Python. By the client where it has a method for the
 * operation, which then has its name; else by plain HTTP. The key stays out of all of them: it is `KEY` of the environment.
 */

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`
const formatted = (value) => JSON.stringify(value, undefined, 2)

const curl = ({ body, headers, method, url }) =>
  [
    `curl -X ${method} ${quoted(url.href)}`,
    '-H "authorization: Bearer $KEY"',
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`])
  ].join(" \\\n  ")

/** Arguments of these are no fields of the contract. */
const unlike = new Set(["attest", "batchUpdate", "deposit", "publicKeys", "revokeGrant", "statement", "costs"])

/** What the clients' method is given; undefined where they have none for it. */
const clientCall = ({ body, fields, headers, operation }) => {
  const name = operation.operationId.split(".")[1].replace("ByBody", "")
  const given = body === undefined ? {} : parsed(body)
  const isPlain = typeof given === "object" && given !== null && !Array.isArray(given)
  const others = Object.keys(headers).filter((header) => header !== "content-type")
  if (!operation.path.startsWith("/v1/") || unlike.has(name) || others.length > 0 || !isPlain) return undefined
  const of = (place) => fields.filter((field) => field.place === place)
  const query = Object.fromEntries(
    of("query").map(({ isText, name: field, value }) => [field, isText ? value : (parsed(value) ?? value)])
  )
  return { name, path: of("path").map(({ value }) => value), named: { ...query, ...given } }
}

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const typescript = (call) => {
  const { body, headers, method, url } = call
  const client = clientCall(call)
  if (client !== undefined) {
    const { name, named, path } = client
    const given = [
      ...path.map((value) => JSON.stringify(value)),
      ...(Object.keys(named).length > 0 ? [formatted(named)] : [])
    ]
    return `import { Muniment } from "@muniment/client"

const muniment = new Muniment({ baseUrl: ${JSON.stringify(url.origin)}, apiKey: process.env.KEY })
console.log(await muniment.${name}(${given.join(", ")}))`
  }
  const sent = Object.entries(headers).map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return `const response = await fetch(${JSON.stringify(url.href)}, {
  method: "${method}",
  headers: { authorization: \`Bearer \${process.env.KEY}\`${sent.join("")} }${body === undefined ? "" : `,\n  body: JSON.stringify(${body})`}
})
console.log(response.status, await response.text())`
}

const python = (call) => {
  const { body, headers, method, url } = call
  const client = clientCall(call)
  if (client !== undefined) {
    const { name, named, path } = client
    const given = [
      ...path.map((value) => literal(value)),
      ...Object.entries(named).map(([field, value]) => `${snake(field)}=${literal(value, "    ")}`)
    ]
    const list = given.length < 2 ? given.join("") : `\n    ${given.join(",\n    ")},\n`
    return `import os

from muniment import Muniment

muniment = Muniment(api_key=os.environ["KEY"], base_url=${literal(url.origin)})
print(muniment.${name === "list" ? "list_memories" : snake(name)}(${list}))`
  }
  const sent = Object.entries(headers).map(([name, value]) => `, ${literal(name)}: ${literal(value)}`)
  const data = body === undefined ? "" : `,\n    data=json.dumps(${literal(parsed(body) ?? body, "    ")}).encode()`
  return `import json
import os
import urllib.request

request = urllib.request.Request(
    ${literal(url.href)},
    method="${method}",
    headers={"authorization": f"Bearer {os.environ['KEY']}"${sent.join("")}}${data},
)
with urllib.request.urlopen(request) as response:
    print(response.status, response.read().decode())`
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/^from$/, "from_")

/** A value of JSON as Python writes it. */
const literal = (value, indent = "") => {
  const deeper = `${indent}    `
  if (value === true) return "True"
  if (value === false) return "False"
  if (value === null) return "None"
  if (typeof value !== "object") return JSON.stringify(value)
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${literal(item, deeper)}`)
  const [open, close] = isList ? "[]" : "{}"
  return items.length === 0 ? open + close : `${open}\n${deeper}${items.join(`,\n${deeper}`)},\n${indent}${close}`
}

/** Language -> the text of a call. */
export const samples = { curl, TypeScript: typescript, Python: python }
