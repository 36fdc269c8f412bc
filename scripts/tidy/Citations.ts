/**
 * Checks that what prose (comments and Markdown) refers to exists: documents in the repository, sections of the
 * contract, names of bounds, targets of links. Documents elsewhere are cited by their URL.
 */
import { posix } from "node:path"
import type { Finding } from "./Finding.ts"
import type { Prose } from "./Prose.ts"

/** What there is to refer to. */
export interface Citable {
  /** All files of the tree. */
  readonly paths: ReadonlySet<string>
  /** Headings of the contract, `packages/domain/README.md`. */
  readonly sections: ReadonlyArray<string>
  /** Names of the bounds in `packages/domain/src/Limits.ts`. */
  readonly limits: ReadonlySet<string>
}

const url = /\bhttps?:\/\/\S+/g
const documentName = /(?<![\w/.<>{}*-])(?:[\w@.-]+\/)*[\w.-]+\.md\b/g
const numberedSection = /\bspecification,? (?:sections? )?\d[\d.]*/gi
const contractSection = /\bcontract: ([A-Z][^.;)`]*)/g
/** The target of a Markdown link into the repository, without the heading. */
const linkTarget = /\]\((?!#|\w+:)([^)#\s]+)/g
const limitName = /\bLimits\.(\w+)/g

export const citationFindings = (prose: Prose, citable: Citable): ReadonlyArray<Finding> => {
  const text = prose.text.replace(url, "")
  const finding = (rule: string, message: string): Finding => ({ path: prose.path, line: prose.line, rule, message })
  return [
    ...matches(text, documentName)
      .filter(([name]) => !isDocument(prose.path, name, citable.paths))
      .map(([name]) => finding("citation", `${name} is not in the repository`)),
    ...matches(text, numberedSection).map(([name]) =>
      finding("citation", `${name}: no such document is in the repository`)
    ),
    ...matches(text, contractSection)
      .filter(([, section = ""]) => !citable.sections.some((known) => section.startsWith(known)))
      .map(([, section]) =>
        finding("citation", `the contract (packages/domain/README.md) has no section "${section}"`)
      ),
    ...matches(prose.path.endsWith(".md") ? text : "", linkTarget)
      .filter(([, target = ""]) => !exists(posix.join(posix.dirname(prose.path), target), citable.paths))
      .map(([, target]) => finding("link", `${target} leads nowhere`)),
    ...matches(text, limitName)
      .filter(([, name = ""]) => name !== "ts" && !citable.limits.has(name))
      .map(([name]) => finding("limit-name", `${name} does not exist`))
  ]
}

/** The headings of a Markdown page, without those of its code samples. */
export const headingsOf = (markdown: string): ReadonlyArray<string> =>
  matches(markdown.replace(/^```[\s\S]*?^```/gm, ""), /^#+ +(.+?) *$/gm).map(([, heading = ""]) => heading)

/** The names that `export const Limits = {` lists. */
export const limitNames = (source: string): ReadonlySet<string> => {
  const body = /export const Limits = \{([\s\S]*?)^\}/m.exec(source)?.[1] ?? ""
  return new Set(matches(body, /^ {2}(\w+):/gm).map(([, name = ""]) => name))
}

/** By its path from the file or from the root, or by the end of its path. */
const isDocument = (from: string, name: string, paths: ReadonlySet<string>): boolean =>
  paths.has(name) ||
  paths.has(posix.join(posix.dirname(from), name)) ||
  [...paths].some((path) => path.endsWith(`/${name}`))

/** A file, or a folder of files. */
const exists = (path: string, paths: ReadonlySet<string>): boolean =>
  paths.has(path) || [...paths].some((known) => known.startsWith(path.endsWith("/") ? path : `${path}/`))

const matches = (text: string, pattern: RegExp): ReadonlyArray<RegExpMatchArray> => [...text.matchAll(pattern)]
