/**
 * The exports of other products: what each looks like, and what becomes of its elements. An element is an object of a
 * JSON file, a row of a table, or a page of Markdown (`{path, text}`).
 */
import { chatgptItems, isChatgpt } from "./chatgptItems.ts"
import { claudeCodeItems, claudeItems, isClaude, isClaudeCode } from "./claudeItems.ts"
import { rowItems } from "./csvItems.ts"
import type { Fields, ForeignItem, ImportOwner } from "./ForeignItems.ts"
import { isLanggraph, langgraphItems } from "./langgraphItems.ts"
import { isLetta, isLettaList, lettaItems } from "./lettaItems.ts"
import { agentFileItems, isAgentFile, noteItems } from "./markdownNotes.ts"
import { isMem0, isMem0Blocks, mem0Blocks, mem0Items } from "./mem0Items.ts"
import { isMempalace, isMempalacePage, mempalaceDrawers, mempalaceItems } from "./mempalaceItems.ts"
import { isMessage, messageRowItems } from "./messageRecords.ts"
import { isZep, ZepNodes } from "./zepItems.ts"

export const foreignFormats = [
  "chatgpt",
  "claude",
  "claude-code",
  "mempalace",
  "letta",
  "langgraph",
  "zep",
  "mem0",
  "messages",
  "csv",
  "agent-files",
  "markdown"
] as const
export type ForeignFormat = (typeof foreignFormats)[number]

interface ForeignReader {
  /** Called with every element before the first one is read. */
  readonly note?: (element: Fields) => void
  /** `key`: the name of the array that it stands in. */
  readonly items: (owner: ImportOwner, element: Fields, key: string) => ReadonlyArray<ForeignItem>
}

interface ForeignExport {
  /** Description of `--in`. */
  readonly expects: string
  readonly isFile: (path: string) => boolean
  /** Whether an element, or a page of text, is one that the product writes. */
  readonly isElement: (element: Fields) => boolean
  /** Elements of a page of Markdown; undefined where the page is no such one. */
  readonly pageElements?: (path: string, text: string) => ReadonlyArray<Fields> | undefined
  /** Of an object at the root: whether the array of this name holds elements. */
  readonly isList?: (key: string) => boolean
  /** Every file is a page. */
  readonly isByPage?: true
  /** A line is an element, where the file is no array. */
  readonly isByLine?: true
  /** Other formats are no hint against it: many products write such files beside their own. */
  readonly isWeak?: true
  readonly reader: () => ForeignReader
}

const json = (path: string): boolean => /\.(?:json|jsonl|ndjson)$/i.test(path)
const isPage = (path: string): boolean => /\.md$/i.test(path)
/** Names that begin with a dot are no notes. */
const isHidden = (path: string): boolean => /(?:^|\/)\./.test(path)

export const foreignExports: Readonly<Record<ForeignFormat, ForeignExport>> = {
  chatgpt: {
    expects: "the export of ChatGPT: its zip, its folder, or a conversations.json (also conversations-000.json)",
    isFile: json,
    isElement: isChatgpt,
    isList: () => false,
    reader: () => ({ items: chatgptItems })
  },
  claude: {
    expects: "the export of Claude: its zip, its folder, or a conversations.json, memories.json or projects.json",
    isFile: json,
    isElement: isClaude,
    isList: (key) => ["conversations", "projects"].includes(key),
    reader: () => ({ items: claudeItems })
  },
  "claude-code": {
    expects: "a session of Claude Code (.jsonl), or a folder of them such as ~/.claude/projects",
    isFile: (path) => /\.jsonl$/i.test(path),
    isElement: isClaudeCode,
    isByLine: true,
    reader: () => ({ items: claudeCodeItems })
  },
  mempalace: {
    expects: "the folder that `mempalace export` writes, in either format, or a file of it",
    isFile: (path) => /\.(?:jsonl|md)$/i.test(path),
    isElement: isMempalace,
    pageElements: (_, text) => (isMempalacePage(text) ? mempalaceDrawers(text) : undefined),
    isByLine: true,
    reader: () => ({ items: mempalaceItems })
  },
  letta: {
    expects: "an agent file of Letta (.af), or a folder of them",
    isFile: (path) => /\.(?:af|json)$/i.test(path),
    isElement: isLetta,
    isList: isLettaList,
    reader: () => ({ items: lettaItems })
  },
  langgraph: {
    expects: "JSON or JSONL of items of LangGraph's store: objects with namespace (or prefix), key and value",
    isFile: json,
    isElement: isLanggraph,
    reader: () => ({ items: langgraphItems })
  },
  zep: {
    expects:
      "JSON of a graph of Zep or Graphiti: objects with uuid and fact, summary or content, in lists such as nodes, edges, episodes",
    isFile: json,
    isElement: isZep,
    reader: () => {
      const { items, note } = new ZepNodes()
      return { items, note }
    }
  },
  mem0: {
    expects: "JSON of memories of mem0 (objects with id and memory, or with payload), or its plugin's mem0-export-*.md",
    isFile: (path) => json(path) || isPage(path),
    isElement: isMem0,
    pageElements: (_, text) => (isMem0Blocks(text) ? mem0Blocks(text) : undefined),
    isWeak: true,
    reader: () => ({ items: mem0Items })
  },
  messages: {
    expects: "JSONL or JSON of chat messages: objects with role and content",
    isFile: json,
    isElement: isMessage,
    isList: (key) => key === "messages",
    isByLine: true,
    isWeak: true,
    reader: () => ({ items: messageRowItems })
  },
  csv: {
    expects:
      "CSV whose first line names its columns, one of them a text (content, text, message, fact or memory; else --columns)",
    isFile: (path) => /\.(?:csv|tsv)$/i.test(path),
    isElement: ({ text }) => text !== undefined,
    isWeak: true,
    reader: () => ({ items: rowItems })
  },
  "agent-files": {
    expects: "CLAUDE.md, AGENTS.md, GEMINI.md, MEMORY.md, rules of Cursor and the like, or a folder with them",
    isFile: isAgentFile,
    isElement: ({ path }) => typeof path === "string",
    pageElements: (path, text) => [{ path, text }],
    isByPage: true,
    isWeak: true,
    reader: () => ({ items: agentFileItems })
  },
  markdown: {
    expects: "a note in Markdown (.md), or a folder of notes",
    isFile: (path) => isPage(path) && !isHidden(path),
    isElement: ({ path }) => typeof path === "string",
    pageElements: (path, text) => [{ path, text }],
    isByPage: true,
    isWeak: true,
    reader: () => ({ items: noteItems })
  }
}
