/** A search as programs send it: for a shell, TypeScript, Python, and as a call of an MCP tool. */
export const callTexts = (origin: string, request: Readonly<Record<string, string | undefined>>) => {
  const given = Object.entries(request).flatMap(([name, value]) =>
    value === undefined || value === "" || (name === "mode" && value === "llm") ? [] : [[name, value] as const]
  )
  const json = Object.fromEntries(given.map(([name, value]) => [name, numbers.has(name) ? Number(value) : value]))
  const python = given.map(([name, value]) => `${snake(name)}=${numbers.has(name) ? value : JSON.stringify(value)}`)
  return {
    curl: `curl "${origin}/v1/memories/search?${new URLSearchParams(given.map(([name, value]) => [name, value]))}" \\\n  -H "authorization: Bearer $MUNIMENT_API_KEY"`,
    TypeScript: `import { Muniment } from "@muniment/client/Muniment"\n\nconst memory = new Muniment({ baseUrl: ${JSON.stringify(origin)}, apiKey: process.env.MUNIMENT_API_KEY })\nconst result = await memory.search(${JSON.stringify(json)})`,
    Python: `from muniment import Muniment\n\nmemory = Muniment(base_url=${JSON.stringify(origin)}, api_key=API_KEY)\nresult = memory.search(${python.join(", ")})`,
    MCP: JSON.stringify({ method: "tools/call", params: { name: "memory_search", arguments: json } }, null, 2)
  }
}

const numbers: ReadonlySet<string> = new Set(["limit", "minRelevance"])

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
