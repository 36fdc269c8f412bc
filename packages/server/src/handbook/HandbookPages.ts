/** The pages of the handbook: Markdown files of the repository that the service serves under `/docs/handbook`. */

export interface HandbookPage {
  readonly name: string
  readonly title: string
  /** Relative to the root of the repository. */
  readonly file: string
}

const page = (name: string, title: string, file = `packages/server/docs/${name}.md`): HandbookPage => ({
  name,
  title,
  file
})

export const handbookPages: ReadonlyArray<HandbookPage> = [
  page("configuration", "Configuration"),
  page("install", "Install, and publish", "packages/cli/docs/install.md"),
  page("coming-from", "Coming from mem0, Zep, Supermemory or Letta"),
  page("eval", "Evaluate a service", "packages/cli/docs/eval.md"),
  page("operations", "Operations: health, backup, upgrade, metrics"),
  page("several-machines", "Several machines"),
  page("context", "Context: the right thing in the prompt"),
  page("history", "History: what was believed, what changed, and feedback"),
  page("conversations", "Conversations, answers, maps"),
  page("language-model", "A language model"),
  page("search", "How search works"),
  page("mcp", "MCP: memory as tools for agents"),
  page("trust", "Trust and sharing: wallets, grants, attestations"),
  page("money", "Money: credits, plans, payments"),
  page("security", "Security notes"),
  page("threat-model", "Threat model, and how to report a vulnerability", ".github/SECURITY.md"),
  page("benchmarks", "Benchmarks"),
  page("client", "TypeScript client", "packages/client/README.md"),
  page("python", "Python client", "packages/python/README.md"),
  page("python-adapters", "Python agent frameworks", "packages/python/docs/adapters.md"),
  page("command-line", "Command line", "packages/cli/README.md"),
  page("contract", "The contract of /v1", "packages/domain/README.md"),
  page("changes", "Changes", ".github/CHANGELOG.md"),
  page("architecture", "Architecture", ".github/ARCHITECTURE.md"),
  page("walks", "Four walks through the code"),
  page("format", "Bytes on disk", "packages/engine/docs/format.md")
]

export const handbookPath = "/docs/handbook"
export const handbookPagePath = ({ name }: HandbookPage): `/${string}` => `${handbookPath}/${name}`

/** Paths of the index and of every page. */
export const handbookPaths: ReadonlyArray<string> = [handbookPath, ...handbookPages.map(handbookPagePath)]

const entities = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"]
])

/**
 * Text as HTML that shows it, also within an attribute in double or single quotes. Apart from the rendering of Markdown,
 * so that a start does not load its library.
 */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities.get(character)!)
