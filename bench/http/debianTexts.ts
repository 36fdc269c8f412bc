/**
 * Real short texts for the bench: every Debian package this machine's apt knows, one JSON object a
 * line: `{"name": "poppler-utils", "text": "PDF utilities (based on Poppler). Poppler is a ..."}`,
 * the synopsis and the first paragraph of the description (the synopsis alone where apt was told not
 * to fetch translations).
 *
 *   node bench/http/debianTexts.ts [--lists /var/lib/apt/lists] [--questions FILE] > texts.jsonl
 *
 * The order is that of a hash of the name, so that any prefix is a fair sample, except that packages
 * which `--questions` names as right answers come first. Of texts that occur twice one is kept.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { answerHelp } from "../Usage.ts"
import { readQuestions } from "./Questions.ts"

const aptHelper = "/usr/lib/apt/apt-helper"
const outputBytesMax = 1_073_741_824

interface Package {
  readonly name: string
  readonly synopsis: string
  readonly digest: string | undefined
}

export interface NamedText {
  readonly name: string
  readonly text: string
}

/** Where apt keeps what it fetched; other systems have no such folder. */
export const aptLists = "/var/lib/apt/lists"
export const questionsFile = join(import.meta.dirname, "questions.txt")

export const debianTexts = (lists: string, questions: string): ReadonlyArray<NamedText> => {
  const translated = readTranslations(lists)
  const wanted = new Set(readQuestions(questions).flatMap(({ answers }) => answers))
  const texts = new Map<string, NamedText>()
  for (const { name, synopsis, digest } of readPackages(lists).sort(byRank(wanted))) {
    const text = (digest === undefined ? undefined : translated.get(digest)) ?? synopsis
    if (!texts.has(text)) texts.set(text, { name, text })
  }
  return [...texts.values()]
}

const main = (): void => {
  answerHelp("node bench/http/debianTexts.ts [--lists DIR of apt] [--questions FILE] > texts.jsonl")
  const { values } = parseArgs({
    options: {
      lists: { type: "string", default: aptLists },
      questions: { type: "string", default: questionsFile }
    }
  })
  const texts = debianTexts(values.lists, values.questions)
  process.stdout.write(texts.map((line) => `${JSON.stringify(line)}\n`).join(""))
  process.stderr.write(`${texts.length} texts\n`)
}

const byRank = (wanted: ReadonlySet<string>) => {
  const rank = ({ name }: Package) =>
    `${wanted.has(name) ? 0 : 1}${createHash("sha256").update(name).digest("hex").slice(0, 16)}`
  return (left: Package, right: Package) => (rank(left) < rank(right) ? -1 : 1)
}

const readPackages = (lists: string): Array<Package> => {
  const packages = new Map<string, Package>()
  for (const paragraph of paragraphs(lists, /_Packages(\.\w+)?$/)) {
    const name = field(paragraph, "Package")
    const synopsis = field(paragraph, "Description")
    if (name === undefined || synopsis === undefined) continue
    packages.set(name, { name, synopsis, digest: field(paragraph, "Description-md5") })
  }
  return [...packages.values()]
}

/** By the digest of the whole description: synopsis and first paragraph as one text. */
const readTranslations = (lists: string): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>()
  for (const paragraph of paragraphs(lists, /_Translation-en(\.\w+)?$/)) {
    const digest = field(paragraph, "Description-md5")
    const [synopsis = "", ...rest] = (/^Description-en: ([\s\S]*)/m.exec(paragraph)?.[1] ?? "").split("\n")
    if (digest === undefined || synopsis === "") continue
    const end = rest.findIndex((line) => line.trim() === "." || !line.startsWith(" "))
    const body = (end === -1 ? rest : rest.slice(0, end)).map((line) => line.trim()).join(" ")
    texts.set(digest, body === "" ? synopsis : `${synopsis}. ${body}`)
  }
  return texts
}

const paragraphs = (lists: string, pattern: RegExp): Array<string> =>
  readdirSync(lists)
    .filter((file) => pattern.test(file))
    .flatMap((file) => {
      const { status, stdout, stderr } = spawnSync(aptHelper, ["cat-file", join(lists, file)], {
        encoding: "utf8",
        maxBuffer: outputBytesMax
      })
      if (status !== 0) throw new Error(`${aptHelper} could not read ${file}: ${stderr}`)
      return stdout.split("\n\n")
    })

const field = (paragraph: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, "m").exec(paragraph)?.[1]

if (import.meta.main) main()
