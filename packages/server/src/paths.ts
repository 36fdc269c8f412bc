/** Paths of requests, for those who look before the router does. */

/** Path of the Model Context Protocol (`mcp/McpRoutes.ts`). */
export const mcpPath = "/mcp"

/** Path of the console's page (`console/ConsoleRoutes.ts`). */
export const consolePath = "/console"

/** Path of a request without its query; most have none, and are not copied. */
export const pathOf = (url: string): string => {
  const query = url.indexOf("?")
  return query < 0 ? url : url.slice(0, query)
}
