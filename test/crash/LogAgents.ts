/** Agents whose memories `LogWriter` writes. */
export const logAgents = ["ann", "bob", "cy"] as const
