/** Forms and questions by which an operator changes accounts and keys; each says first what it does. */
import type { AccountErasureReport, Plan } from "@muniment/domain/Account"
import { useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { type Account, quotaNames, type ShownQuotas } from "../service/operator.ts"
import { accountChanges, may } from "../service/session.ts"
import { count, countOfCredits } from "../service/words.ts"
import { Confirm, Dialog, FormDialog, Input } from "../ui/Dialog.tsx"
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
