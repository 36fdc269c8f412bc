/** Ctrl-K: leads to a page, a subject, a person by name, an agent, a thread or a memory by its id, from anywhere. */
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks"
import { after } from "../service/browser.ts"
import { facetsOf } from "../service/knowledge.ts"
import { useLoad } from "../service/load.ts"
import { type Everyone, everyone, isCalled } from "../service/people.ts"
import { account, linkTo } from "../service/route.ts"
import { session } from "../service/session.ts"
import { countOfMemories } from "../service/words.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { Refused } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"

interface Target {
  readonly name: string
  readonly note: string
  readonly icon: IconName
  readonly link: string
}

interface PageTarget {
  readonly name: string
  readonly title: string
  readonly icon: IconName
}

export const Finder = ({ pages }: { readonly pages: ReadonlyArray<PageTarget> }) => {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      if (document.querySelector("dialog[open]") === null) setOpen(true)
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  }, [])
  return (
    <>
      <button type="button" class="finder-button" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        <Icon name="search" /> <span>Go to …</span> <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      {isOpen && <FinderDialog pages={pages} onClose={() => setOpen(false)} />}
    </>
  )
}

const offeredEach = 5
const pauseMillis = 150

const FinderDialog = (given: { readonly pages: ReadonlyArray<PageTarget>; readonly onClose: () => void }) => {
  const [text, setText] = useState("")
  const [asked, ask] = useState("")
  const [chosen, choose] = useState(0)
  const list = useId()
  const options = useRef<HTMLUListElement>(null)
  const people = usePeople()
  const { loaded } = useLoad((signal) => found(asked, people, signal), [asked])
  useEffect(() => after(pauseMillis, () => ask(text.trim())), [text])
  const named = [
    ...pagesCalled(given.pages, text.trim()),
    ...partsCalled(given.pages, text.trim()),
    ...(asked === text.trim() ? (loaded.value ?? []) : [])
  ]
  const isAsking = loaded.state === "loading" || asked !== text.trim()
  const targets = isAsking ? named : [...named, ...saying(text.trim())]
  const at = Math.min(chosen, targets.length - 1)
  useEffect(() => {
    options.current?.children[at]?.scrollIntoView({ block: "nearest" })
  }, [at])
  const go = (target: Target | undefined): void => {
    if (target === undefined) return
    given.onClose()
    location.hash = target.link
  }
  const onKey = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined) choose((at + step + targets.length) % Math.max(1, targets.length))
    else if (event.key === "Enter") go(targets[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" onClose={given.onClose}>
      <label>
        <span>Page, subject, person, agent, thread, or the id of a memory</span>
        <input
          type="text"
          role="combobox"
          dir="auto"
          autocomplete="off"
          spellcheck={false}
          aria-expanded={targets.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={targets.length === 0 ? undefined : `${list}-${at}`}
          value={text}
          onKeyDown={onKey}
          onInput={({ currentTarget: { value } }) => {
            setText(value)
            choose(0)
          }}
        />
      </label>
      {loaded.state === "failed" && <Refused error={loaded.error} />}
      <ul class="finder" role="listbox" id={list} aria-label="Found" ref={options}>
        {targets.map((target, index) => (
          // The keys are those of the field, which keeps the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <li
            key={`${target.note} ${target.link}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(target)}
          >
            <Icon name={target.icon} />
            <span class="what">
              <UserText of={target.name} />
            </span>
            <span class="small muted">
              <UserText of={target.note} />
            </span>
          </li>
        ))}
      </ul>
      <p class="small muted" role="status">
        {named.length > 0 ? "" : isAsking ? "Looking …" : "Nothing is called so."}
      </p>
    </Dialog>
  )
}

/** Read once, when they are first asked for. */
const usePeople = (): (() => Promise<Everyone>) => {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [])
  const read = useRef<Promise<Everyone> | undefined>(undefined)
  return () => (read.current ??= everyone("", controller.signal))
}

const memoryId = /^mem_\w+$/

/** Parts of pages, and the words that people look for them by. */
const parts: ReadonlyArray<{
  readonly page: string
  readonly show?: string
  readonly title: string
  readonly words: string
}> = [
  { page: "add", show: "many", title: "Import a file", words: "upload csv json lines" },
  { page: "subjects", title: "Erase or export a person", words: "delete forget privacy gdpr download" },
  { page: "search", title: "Why a memory was not found", words: "missing explain recall" },
  { page: "evaluate", title: "Compare recall", words: "quality questions worse better" },
  { page: "audit", title: "Changes by operators", words: "who changed log history" },
  { page: "audit", show: "requests", title: "Calls of accounts", words: "requests errors refused log" },
  { page: "system", show: "operators", title: "Operators and their roles", words: "users team rights permissions" },
  { page: "system", show: "jobs", title: "Daily job", words: "cleaning expiry schedule" },
  { page: "system", show: "indexes", title: "Indexes", words: "vectors embedding" },
  { page: "system", show: "sessions", title: "Sessions and webhook", words: "sign-ins signed in" }
]

const partsCalled = (pages: ReadonlyArray<PageTarget>, text: string): ReadonlyArray<Target> =>
  parts.flatMap(({ page, show, title, words }) => {
    const of = pages.find(({ name }) => name === page)
    return text === "" || of === undefined || !`${title} ${words}`.toLowerCase().includes(text.toLowerCase())
      ? []
      : [{ name: title, note: `on ${of.title}`, icon: of.icon, link: linkTo(page, { show }) }]
  })

/** Where nothing is called so, something may still say so. */
const saying = (text: string): ReadonlyArray<Target> =>
  text === "" || memoryId.test(text) || needsAccount()
    ? []
    : [{ name: text, note: "search memories", icon: "search", link: linkTo("search", { query: text }) }]

const needsAccount = (): boolean => session.value?.role === "operator" && account.value === ""

const pagesCalled = (pages: ReadonlyArray<PageTarget>, text: string): ReadonlyArray<Target> =>
  pages
    .filter(({ title }) => title.toLowerCase().includes(text.toLowerCase()))
    .map(({ icon, name, title }) => ({ name: title, note: "page", icon, link: linkTo(name) }))

const found = async (
  text: string,
  readPeople: () => Promise<Everyone>,
  signal: AbortSignal
): Promise<ReadonlyArray<Target>> => {
  if (text === "" || needsAccount()) return []
  if (memoryId.test(text))
    return [{ name: text, note: "memory", icon: "memories", link: linkTo("memories", { id: text }) }]
  const [people, ...facets] = await Promise.all([
    readPeople(),
    ...(["subjects", "agents", "threads"] as const).map((facet) =>
      facetsOf(facet, { contains: text, limit: offeredEach }, signal)
    )
  ])
  const [subjects = [], agents = [], threads = []] = facets.map(({ values }) => values)
  const called = people.people.filter(isCalled(text)).slice(0, 2 * offeredEach)
  const isUnread = ({ value }: { readonly value: string }): boolean =>
    !people.isWhole && called.every(({ subjectId }) => subjectId !== value)
  return [
    ...[
      ...called,
      ...subjects.filter(isUnread).map(({ memories, value }) => ({ memories, names: [], subjectId: value }))
    ].map(({ memories, names, subjectId }): Target => {
      const name = names[0] ?? subjectId
      const note = `${name === subjectId ? "subject" : `person, ${subjectId}`}, ${countOfMemories(memories)}`
      return { name, note, icon: "people", link: linkTo("people", { subjectId }) }
    }),
    ...agents.map(({ memories, value }): Target => ({
      name: value,
      note: `agent, ${countOfMemories(memories)}`,
      icon: "memories",
      link: linkTo("memories", { agentId: value })
    })),
    ...threads.map(({ memories, value }): Target => ({
      name: value,
      note: `thread, ${countOfMemories(memories)}`,
      icon: "conversations",
      link: linkTo("conversations", { threadId: value })
    }))
  ]
}
