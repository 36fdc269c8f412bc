/** The frame around the pages: navigation, the account that is looked at, who is signed in. */
import type { JSX } from "preact"
import { signal } from "@preact/signals"
import { useEffect, useMemo, useState } from "preact/hooks"
import { type ApiError, call } from "./service/api.ts"
import { asApiError, useLoad } from "./service/load.ts"
import { account, chooseAccount, clearAddress, linkTo, nameAccount, page, parameters } from "./service/route.ts"
import {
  accountChanges,
  accountCount,
  endedBecause,
  hasOpenId,
  isBound,
  isSuspended,
  mayChange,
  session
} from "./service/session.ts"
import { switchTheme, theme } from "./service/browser.ts"
import { useDraft } from "./ui/Field.tsx"
import { Icon, type IconName } from "./ui/Icon.tsx"
import { Empty, Notice, Refused, Said, Waiting } from "./ui/Notice.tsx"
import { UndoOffer } from "./ui/UndoOffer.tsx"
import { Accounts } from "./pages/Accounts.tsx"
import { Add } from "./pages/Add.tsx"
import { Bin } from "./pages/Bin.tsx"
import { ContextPage } from "./pages/ContextPage.tsx"
import { Conversations } from "./pages/Conversations.tsx"
import { Evaluate } from "./pages/Evaluate.tsx"
import { Finder } from "./pages/Finder.tsx"
import { Live } from "./pages/Live.tsx"
import { Memories } from "./pages/Memories.tsx"
import { Audit } from "./pages/Audit.tsx"
import { Money } from "./pages/Money.tsx"
import { MemoryMapPage } from "./pages/MemoryMapPage.tsx"
import { OwnAccount, SuspendedPage } from "./pages/OwnAccount.tsx"
import { Overview } from "./pages/Overview.tsx"
import { People } from "./pages/People.tsx"
import { Playground } from "./pages/Playground.tsx"
import { Search } from "./pages/Search.tsx"
import { Schemas } from "./pages/Schemas.tsx"
import { Subjects } from "./pages/Subjects.tsx"
import { System } from "./pages/System.tsx"

interface PageEntry {
  readonly name: string
  readonly title: string
  readonly icon: IconName
  readonly group: "Memory" | "Service"
  readonly show: () => JSX.Element
  /** Shows one account's things: an operator has to choose one. */
  readonly isOfAccount: boolean
  readonly isForOperators: boolean
  readonly isForAccounts?: boolean
  /** Is of the whole account, and nothing for keys of some agents or subjects. */
  readonly isOfWhole?: boolean
  /** Changes what an account holds, and is nothing for who may only look. */
  readonly isChange?: boolean
}

const memory = { group: "Memory", isOfAccount: true, isForOperators: false } as const
const service = { group: "Service", isOfAccount: false, isForOperators: true } as const
const own = { ...service, isForOperators: false, isForAccounts: true } as const
const books = { ...service, isForOperators: false, isOfWhole: true } as const

const pages: ReadonlyArray<PageEntry> = [
  { name: "overview", title: "Overview", icon: "overview", show: Overview, ...service },
  { name: "memories", title: "Memories", icon: "memories", show: Memories, ...memory },
  { name: "search", title: "Search", icon: "search", show: Search, ...memory },
  { name: "context", title: "Context", icon: "context", show: ContextPage, ...memory },
  { name: "playground", title: "Playground", icon: "playground", show: Playground, ...memory },
  { name: "evaluate", title: "Evaluate", icon: "good", show: Evaluate, ...memory },
  { name: "map", title: "Map", icon: "map", show: MemoryMapPage, ...memory },
  { name: "conversations", title: "Conversations", icon: "conversations", show: Conversations, ...memory },
  { name: "people", title: "People", icon: "people", show: People, ...memory },
  { name: "subjects", title: "Subjects", icon: "subjects", show: Subjects, ...memory },
  { name: "add", title: "Add", icon: "add", show: Add, ...memory, isChange: true },
  { name: "bin", title: "Bin", icon: "bin", show: Bin, ...memory, isChange: true },
  { name: "schemas", title: "Schemas", icon: "schemas", show: Schemas, ...memory },
  { name: "live", title: "Live", icon: "live", show: Live, ...service },
  { name: "accounts", title: "Accounts and keys", icon: "accounts", show: Accounts, ...service },
  { name: "own", title: "Your account", icon: "accounts", show: OwnAccount, ...own },
  { name: "money", title: "Money", icon: "money", show: Money, ...books },
  { name: "system", title: "System", icon: "system", show: System, ...service },
  { name: "audit", title: "Audit", icon: "audit", show: Audit, ...books }
]

export const App = () => {
  if (session.value === undefined) return <Waiting what="Signing in" />
  // The pages ask anew once they are shown again.
  if (isSuspended.value)
    return <SuspendedPage error={signOutError.value} onRetry={() => (isSuspended.value = false)} onSignOut={signOut} />
  if (session.value === null) return <SignInPage reason={endedBecause.value} />
  return <Shell />
}

const Shell = () => {
  const isOperator = session.value?.role === "operator"
  const shown = pages.filter(
    ({ isChange, isForAccounts, isForOperators, isOfWhole }) =>
      (isOperator ? isForAccounts !== true : !isForOperators) &&
      (isChange !== true || mayChange()) &&
      (isOfWhole !== true || !isBound())
  )
  // Behind the address without a page is the first that the caller may see.
  const current = shown.find(({ name }) => name === page.value) ?? (isStart() ? shown[0] : undefined)
  const title = current?.title ?? "No such page"
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    setOpen(false)
    signOutError.value = undefined
  }, [page.value])
  useEffect(nameAccount, [page.value, parameters.value, account.value])
  useEffect(() => {
    document.title = `${title} · Muniment`
  }, [title])
  return (
    <div class={`shell ${mayChange() ? "" : "looks"}`}>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the page
      </button>
      <nav class={`side ${isOpen ? "open" : ""}`} aria-label="Pages">
        <div class="brand">
          <Icon name="logo" /> Muniment
        </div>
        {(["Memory", "Service"] as const).map((group) => (
          <NavGroup
            key={group}
            title={group}
            entries={shown.filter((entry) => entry.group === group)}
            current={current?.name ?? ""}
          />
        ))}
        <div class="foot">
          <a href="/docs">API and handbook</a>
          <button type="button" onClick={switchTheme}>
            <Icon name={theme.value === "dark" ? "sun" : "moon"} />{" "}
            {theme.value === "dark" ? "Light theme" : "Dark theme"}
          </button>
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        </div>
      </nav>
      <div class="content">
        <header class="top">
          <button type="button" class="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name="menu" /> <span class="hidden">Pages</span>
          </button>
          {isOperator ? <AccountChoice /> : <strong>{session.value?.account}</strong>}
          <Finder pages={shown} />
          <span class="grow" />
          {session.value?.operator && <span class="small">{session.value.operator.name}</span>}
          <span class="badge accent">{session.value?.operator?.role ?? "account"}</span>
        </header>
        <UndoOffer />
        {signOutError.value !== undefined && <Refused error={signOutError.value} />}
        <main id="main" tabIndex={-1}>
          <h1 class="hidden">{title}</h1>
          {current === undefined ? <NoSuchPage first={shown[0]} /> : <Shown entry={current} isOperator={isOperator} />}
        </main>
      </div>
    </div>
  )
}

const isKnown = (): boolean => pages.some(({ name }) => name === page.value)

const isStart = (): boolean => page.value === "overview"

const roleOrKey = (): string => (session.value?.role === "operator" ? "role" : "key")

const NoSuchPage = ({ first }: { readonly first: PageEntry | undefined }) => (
  <section class="card">
    <Empty title={isKnown() ? `This page is not for your ${roleOrKey()}` : "There is no such page"}>
      <p>
        The address names the page “{page.value}”, which {isKnown() ? "needs more rights" : "is none of this console"}.
        {first !== undefined && (
          <>
            {" "}
            <a href={linkTo(first.name)}>{first.title}</a> is one.
          </>
        )}
      </p>
    </Empty>
  </section>
)

const Shown = ({ entry, isOperator }: { readonly entry: PageEntry; readonly isOperator: boolean }) => {
  const Page = entry.show
  if (isOperator && entry.isOfAccount) {
    if (account.value === "") {
      return (
        <Empty title="Choose an account">
          <p>{entry.title} shows what one account holds. Choose it above.</p>
        </Empty>
      )
    }
    if (unknownAccount.value === account.value) {
      return (
        <Empty title={`There is no account ${account.value}`}>
          <p>The address names it: it may have been erased, or be of another service. Choose one above.</p>
        </Empty>
      )
    }
  }
  return <Page key={`${entry.name} ${entry.isOfAccount ? account.value : ""}`} />
}

const NavGroup = (given: {
  readonly title: string
  readonly entries: ReadonlyArray<PageEntry>
  readonly current: string
}) =>
  given.entries.length === 0 ? null : (
    <>
      <div class="group">{given.title}</div>
      {given.entries.map(({ icon, name, title }) => (
        <a key={name} href={linkTo(name)} aria-current={name === given.current ? "page" : undefined}>
          <Icon name={icon} /> {title}
        </a>
      ))}
    </>
  )

/** That the address names, and the service does not know. */
const unknownAccount = signal("")

/** Most accounts in a list; among more, one is chosen by its name. */
const selectMax = 100
const offeredMax = 50

const AccountChoice = () => {
  const { loaded } = useLoad(
    (abort) => call("GET", "/admin/accounts", { signal: abort }),
    [accountChanges.value, account.value]
  )
  const names = useMemo(() => (loaded.value?.accounts ?? []).map(({ name }) => name), [loaded.value])
  useEffect(() => {
    if (loaded.state !== "ready") return
    accountCount.value = names.length
    const isKnown = names.includes(account.value)
    unknownAccount.value = isKnown ? "" : account.value
    if (!isKnown && account.value === "" && names[0] !== undefined) chooseAccount(names[0])
  }, [loaded, account.value])
  return (
    <label class="actions">
      <span class="small muted">Account</span>
      {names.length > selectMax ? (
        <AccountSearch names={names} />
      ) : (
        <select value={account.value} onChange={({ currentTarget }) => chooseAccount(currentTarget.value)}>
          {!names.includes(account.value) && <option value="">choose …</option>}
          {names.map((name) => (
            <option key={name} value={name} selected={name === account.value}>
              {name}
            </option>
          ))}
        </select>
      )}
    </label>
  )
}

const AccountSearch = ({ names }: { readonly names: ReadonlyArray<string> }) => {
  const known = useMemo(() => new Set(names), [names])
  const [text, setText] = useDraft(account.value)
  return (
    <>
      <input
        type="search"
        list="accounts-offered"
        autocomplete="off"
        value={text}
        onInput={({ currentTarget: { value } }) => {
          setText(value)
          if (known.has(value)) chooseAccount(value)
        }}
        onBlur={() => setText(account.value)}
      />
      <datalist id="accounts-offered">
        {names
          .filter((name) => name.includes(text))
          .slice(0, offeredMax)
          .map((name) => (
            <option key={name} value={name} />
          ))}
      </datalist>
    </>
  )
}

/** Why the last attempt to sign out failed: the session goes on. */
const signOutError = signal<ApiError | undefined>(undefined)

const signOut = async (): Promise<void> => {
  signOutError.value = undefined
  try {
    await call("DELETE", "/console/session")
  } catch (cause) {
    const error = asApiError(cause)
    // 401: it had ended already.
    if (error.status !== 401) {
      signOutError.value = error
      return
    }
  }
  endedBecause.value = "You have signed out."
  isSuspended.value = false
  session.value = null
  // It names what was looked for, and by whom it was said: nothing for whoever signs in next.
  clearAddress()
}

/** Sign-in: an operator by a link of the command line or a secret, an account by its key. */
const SignInPage = ({ reason }: { readonly reason: string | undefined }) => {
  const [key, setKey] = useState("")
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const signIn = (event: Event): void => {
    event.preventDefault()
    call("POST", "/console/session", { body: { key } }).then(
      (answer) => (session.value = answer.session),
      (cause: unknown) => {
        const refusal = asApiError(cause)
        showError(refusal)
        isSuspended.value = refusal.code === "account_suspended"
      }
    )
  }
  return (
    <main class="sign-in">
      <form class="card" onSubmit={signIn}>
        <div class="brand">
          <Icon name="logo" /> Muniment
        </div>
        <h1>Sign in</h1>
        {error === undefined ? (
          reason !== undefined && (
            <Notice tone="warn">
              <Said message={reason} />
            </Notice>
          )
        ) : (
          <Refused error={error} />
        )}
        <label>
          <span>API key of an account, or an operator’s secret</span>
          <input
            type="password"
            value={key}
            required
            autocomplete="off"
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
        {hasOpenId.value && (
          <a class="button" href="/console/openid">
            Sign in with OpenID Connect
          </a>
        )}
        <p class="small muted">
          The first operator: run <code>npm run muniment -- console</code> on the machine of the service, with its{" "}
          <code>MUNIMENT_DATA_DIR</code>, and open the link that it prints. It works once, for ten minutes. The
          operator’s token in the data directory makes such links; it does not sign in here.
        </p>
      </form>
    </main>
  )
}
