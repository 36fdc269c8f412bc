/** Forms and questions by which an operator changes accounts and keys; each says first what it does. */
import type { AccountErasureReport, Plan } from "@muniment/domain/Account"
import { useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { type Account, type Key, madeBy, quotaNames, type ShownQuotas } from "../service/operator.ts"
import { accountChanges, may } from "../service/session.ts"
import { count, countOfCredits } from "../service/words.ts"
import { Confirm, Dialog, Check, FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"
import { Fact } from "../ui/Table.tsx"

interface Asked {
  readonly account: Account
  readonly onClose: () => void
  readonly onDone: () => void
}

const plans: ReadonlyArray<readonly [Plan, string]> = [
  ["free", "free"],
  ["starter", "starter"],
  ["pro", "pro"],
  ["owner", "owner"]
]

export const CreateAccount = (given: { readonly onClose: () => void; readonly onDone: (account: string) => void }) => {
  const [name, setName] = useState("")
  const [plan, setPlan] = useState<Plan>("free")
  return (
    <FormDialog
      title="New account"
      action="Create"
      isReady={name !== ""}
      send={async () => {
        await call("POST", "/admin/accounts", { body: { name, plan } })
        accountChanges.value += 1
        given.onDone(name)
      }}
      onClose={given.onClose}
    >
      <Input label="Name" value={name} onValue={setName} required />
      {may("money.setPlan") && <Choice label="Plan" value={plan} options={plans} onValue={setPlan} />}
    </FormDialog>
  )
}

export const ChangePlan = ({ account, onClose, onDone }: Asked) => {
  const [plan, setPlan] = useState<Plan>(account.plan)
  return (
    <FormDialog
      title={`Plan of ${account.name}`}
      action="Change"
      isReady={plan !== account.plan}
      send={async () => {
        await call("POST", "/admin/accounts/plan", { body: { account: account.name, plan } })
        onDone()
      }}
      onClose={onClose}
    >
      <Choice label="Plan" value={plan} options={plans} onValue={setPlan} />
      <p class="small muted">It acts on the next request: prices, allowance, limits of requests, quotas of the plan.</p>
    </FormDialog>
  )
}

/** Empty: as the plan has it. */
export const SetLimits = ({ account, onClose, onDone, quotas }: Asked & { readonly quotas: ShownQuotas }) => {
  const tier = quotas.tiers.find((one) => one.tier === quotas.account?.tier)
  const ofTier = (name: string) => tier?.limits.find((one) => one.name === name)?.limit ?? null
  const before = Object.fromEntries(
    (quotas.account?.quotas ?? []).map(({ limit, name }) => [
      name,
      limit === ofTier(name) ? "" : limit === null ? "none" : String(limit)
    ])
  )
  const [texts, setTexts] = useState(before)
  const changed = Object.entries(texts).filter(([name, text]) => text.trim() !== before[name])
  return (
    <FormDialog
      title={`Limits of ${account.name}`}
      action="Set limits"
      isReady={changed.length > 0}
      send={async () => {
        const limits = Object.fromEntries(changed.map(([name, text]) => [name, limitOf(text.trim())]))
        await call("POST", "/admin/quotas", { body: { account: account.name, limits } })
        onDone()
      }}
      onClose={onClose}
    >
      <p class="small muted">
        A number, or <code>none</code> for no limit; empty: as its plan has it. What it holds above a lower limit stays.
      </p>
      <div class="fields">
        {(quotas.account?.quotas ?? []).map(({ name }) => {
          const limit = ofTier(name)
          return (
            <Input
              key={name}
              label={quotaNames[name]}
              value={texts[name] ?? ""}
              hint={limit === null ? "no limit" : count(limit)}
              onValue={(text) => setTexts({ ...texts, [name]: text })}
            />
          )
        })}
      </div>
    </FormDialog>
  )
}

/** A text that is no number goes to the service as it is, which says what is wrong with it. */
const limitOf = (text: string): number | string | null =>
  text === "" ? "default" : text === "none" ? null : /^\d+$/.test(text) ? Number(text) : text

export const CreateKey = ({ account, onClose, onDone }: Asked) => {
  const [label, setLabel] = useState("")
  const [expiresIn, setExpiresIn] = useState("")
  const [agents, setAgents] = useState("")
  const [subjects, setSubjects] = useState("")
  const [isReadOnly, setReadOnly] = useState(false)
  const [secret, setSecret] = useState<string | undefined>(undefined)
  const close = (): void => {
    onClose()
    if (secret !== undefined) onDone()
  }
  if (secret !== undefined) return <Secret title="The new key" secret={secret} onClose={close} />
  return (
    <FormDialog
      title={`New key of ${account.name}`}
      action="Create"
      send={async () => {
        const scope = { ...listed("agents", agents), ...listed("subjects", subjects) }
        const made = await call("POST", "/admin/keys", {
          body: {
            account: account.name,
            label,
            ...scope,
            ...(isReadOnly && { readOnly: true }),
            ...(expiresIn !== "" && { expiresIn })
          }
        })
        setSecret(made.secret)
      }}
      staysOpen
      onClose={onClose}
    >
      <Input label="Label" value={label} hint="laptop" onValue={setLabel} />
      <div class="fields">
        <Input label="Only these agents" value={agents} hint="all" onValue={setAgents} />
        <Input label="Only these subjects" value={subjects} hint="all" onValue={setSubjects} />
        <Input label="Ends after" value={expiresIn} hint="never, or 90d" onValue={setExpiresIn} />
      </div>
      <Check label="It may only read" checked={isReadOnly} onChecked={setReadOnly} />
    </FormDialog>
  )
}

const listed = (name: string, text: string): Readonly<Record<string, ReadonlyArray<string>>> => {
  const items = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
  return items.length === 0 ? {} : { [name]: items }
}

/** A secret that is shown once. */
export const Secret = ({
  onClose,
  secret,
  title
}: {
  readonly title: string
  readonly secret: string
  readonly onClose: () => void
}) => {
  const [isCopied, setCopied] = useState(false)
  return (
    <Dialog title={title} onClose={onClose} isKept>
      <Notice tone="warn">This is the only time that it is shown.</Notice>
      <pre tabIndex={0}>{secret}</pre>
      <div class="actions">
        <button type="button" onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}>
          {isCopied ? "Copied" : "Copy"}
        </button>
        <button type="button" class="primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  )
}

export const RevokeKey = (given: Asked & { readonly chosen: Key; readonly keys: ReadonlyArray<Key> }) => {
  const { chosen, keys, onClose, onDone } = given
  const [keepsMade, setKeepsMade] = useState(false)
  const also = madeBy(chosen, keys)
  return (
    <FormDialog
      title={`Revoke the key ${chosen.label === "" ? chosen.prefix : chosen.label}`}
      action="Revoke"
      isDanger
      send={async () => {
        await call("DELETE", `/admin/keys/${encodeURIComponent(chosen.id)}`, {
          query: { keepMade: keepsMade ? true : undefined }
        })
        onDone()
      }}
      onClose={onClose}
    >
      <p>It opens nothing from the next request on. This cannot be undone.</p>
      {also.length > 0 && (
        <>
          <p>
            {count(also.length)} {also.length === 1 ? "key that it made goes" : "keys that it made go"} with it:{" "}
            {also.map(({ label, prefix }) => (label === "" ? prefix : label)).join(", ")}.
          </p>
          <Check label="Those keys stay" checked={keepsMade} onChecked={setKeepsMade} />
        </>
      )}
    </FormDialog>
  )
}

export const SuspendAccount = ({ account, onClose, onDone }: Asked) => (
  <FormDialog
    title={`Suspend ${account.name}`}
    action="Suspend"
    isDanger
    send={async () => {
      await call("POST", "/admin/accounts/suspend", { body: { account: account.name } })
      onDone()
    }}
    onClose={onClose}
  >
    <p>
      From the next request on its keys and wallets get 403 <code>account_suspended</code>. Jobs and payments under way
      go on; nothing is deleted, and Resume ends it.
    </p>
  </FormDialog>
)

export const ResumeAccount = ({ account, onClose, onDone }: Asked) => (
  <FormDialog
    title={`Resume ${account.name}`}
    action="Resume"
    send={async () => {
      await call("POST", "/admin/accounts/resume", { body: { account: account.name } })
      onDone()
    }}
    onClose={onClose}
  >
    <p>Its keys and wallets work again from the next request on.</p>
  </FormDialog>
)

type Erasure = typeof AccountErasureReport.Type

/** Says what there is (a dry run), then wants the name typed; afterwards the proof. */
export const EraseAccount = ({ account, onClose, onDone }: Asked) => {
  const [typed, setTyped] = useState("")
  const [done, setDone] = useState<Erasure | undefined>(undefined)
  const erase = async (dryRun: boolean): Promise<Erasure> =>
    (
      await call("POST", "/admin/accounts/erase", {
        body: { account: account.name, dryRun }
      })
    ).erasure
  if (done !== undefined) {
    const close = (): void => {
      onClose()
      onDone()
    }
    return (
      <Dialog title={`${account.name} is erased`} onClose={close}>
        <Notice tone={done.files.left.length === 0 ? "good" : "bad"}>
          {done.files.left.length === 0
            ? `${count(done.files.removed.length)} files are removed; looked for afterwards, none is left.`
            : `Files are left: ${done.files.left.join(", ")}.`}
        </Notice>
        <Removed report={done} />
        <div class="actions">
          <button type="button" class="primary" onClick={close}>
            Close
          </button>
        </div>
      </Dialog>
    )
  }
  return (
    <Confirm
      title={`Erase ${account.name} wholly`}
      action="Erase"
      preview={() => erase(true)}
      isReady={typed === account.name}
      describe={(report) => (
        <>
          <p>This removes for good, beyond what any undo could bring back:</p>
          <Removed report={report} />
          <Input label={`Type ${account.name} to go on`} value={typed} onValue={setTyped} />
        </>
      )}
      run={async () => {
        setDone(await erase(false))
        accountChanges.value += 1
      }}
      staysOpen
      onClose={onClose}
    />
  )
}

const Removed = ({ report }: { readonly report: Erasure }) => {
  const { agents, answers, keys, memories, schemas, wallets } = report.removed
  return (
    <>
      <dl class="facts">
        {(
          [
            ["Memories", memories],
            ["Agents", agents],
            ["Keys", keys],
            ["Wallets", wallets],
            ["Schemas", schemas],
            ["Kept answers", answers]
          ] as const
        ).map(([name, value]) => (
          <Fact key={name} name={name}>
            {count(value)}
          </Fact>
        ))}
        {report.ledger.closed.map(({ credits, name }) => (
          <Fact key={name} name={`Booked out of ${name}`}>
            {countOfCredits(credits)}
          </Fact>
        ))}
      </dl>
    </>
  )
}
