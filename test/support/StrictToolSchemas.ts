/**
 * What the APIs of OpenAI, Anthropic and Gemini all take as the schema of a tool's arguments, in their strict forms: one
 * fault for each place where a schema has anything else. Two of them refuse every tool of a request for one fault.
 */

const keywords: Readonly<Record<string, ReadonlyArray<string>>> = {
  object: ["type", "description", "properties", "required"],
  array: ["type", "description", "items"],
  string: ["type", "description", "enum", "pattern", "format"],
  number: ["type", "description"],
  integer: ["type", "description"],
  boolean: ["type", "description"],
  null: ["type", "description"]
}
const name = /^[a-zA-Z0-9_.-]{1,64}$/
const nestingMax = 10

type Node = Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)

/** Faults of a tool, its name included. */
export const toolFaults = (tool: { readonly name: string; readonly inputSchema: unknown }): ReadonlyArray<string> => [
  ...(/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name) ? [] : [`the name ${tool.name}`]),
  ...(isNode(tool.inputSchema) && tool.inputSchema["type"] === "object" ? [] : ["the root is no object"]),
  ...schemaFaults(tool.inputSchema, tool.name, 0)
]

const schemaFaults = (node: unknown, place: string, depth: number): ReadonlyArray<string> => {
  if (!isNode(node)) return [`${place}: no schema`]
  if (depth > nestingMax) return [`${place}: nested too deeply`]
  if (node["description"] !== undefined && typeof node["description"] !== "string") return [`${place}: description`]
  if (node["anyOf"] !== undefined) return choiceFaults(node, place, depth)
  const { type } = node
  if (typeof type !== "string" || keywords[type] === undefined) return [`${place}: type ${JSON.stringify(type)}`]
  const unknown = Object.keys(node).filter((keyword) => !keywords[type]!.includes(keyword))
  return [
    ...unknown.map((keyword) => `${place}: ${keyword}`),
    ...(type === "object" ? objectFaults(node, place, depth) : []),
    ...(type === "array" ? schemaFaults(node["items"], `${place}[]`, depth + 1) : []),
    ...(type === "string" ? textFaults(node, place) : [])
  ]
}

const choiceFaults = (node: Node, place: string, depth: number): ReadonlyArray<string> => {
  const { anyOf, description: _text, ...others } = node
  if (!Array.isArray(anyOf) || anyOf.length < 2) return [`${place}: anyOf`]
  return [
    ...Object.keys(others).map((keyword) => `${place}: ${keyword} beside anyOf`),
    ...anyOf.flatMap((one, at) => schemaFaults(one, `${place}|${at}`, depth))
  ]
}

const objectFaults = (node: Node, place: string, depth: number): ReadonlyArray<string> => {
  const { properties = {}, required = [] } = node
  if (!isNode(properties)) return [`${place}: properties`]
  const names = Object.keys(properties)
  const demanded: ReadonlyArray<unknown> = Array.isArray(required) ? required : [required]
  return [
    ...names.filter((one) => !name.test(one)).map((one) => `${place}: the name ${JSON.stringify(one)}`),
    ...demanded
      .filter((one) => !names.includes(String(one)))
      .map((one) => `${place}: ${one} is required, not declared`),
    ...(new Set(demanded).size < demanded.length ? [`${place}: required twice`] : []),
    ...Object.entries(properties).flatMap(([one, inner]) => schemaFaults(inner, `${place}/${one}`, depth + 1))
  ]
}

const textFaults = ({ enum: values, format, pattern }: Node, place: string): ReadonlyArray<string> => {
  const isListed = Array.isArray(values) && values.length > 0 && values.every((one) => typeof one === "string" && one)
  return [
    ...(values !== undefined && !isListed ? [`${place}: enum`] : []),
    ...(format !== undefined && format !== "date-time" ? [`${place}: format`] : []),
    ...(pattern !== undefined && (typeof pattern !== "string" || /\(\?|\\[pPukb1-9]/.test(pattern))
      ? [`${place}: pattern`]
      : [])
  ]
}
