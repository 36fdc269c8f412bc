/** Who may operate the service, in which role: added with a secret that is shown once, and revoked. */
import type { OperatorRecord, OperatorRole } from "@muniment/domain/Operator"
import { useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { linkTo } from "../service/route.ts"
import { ago, moment } from "../service/text.ts"
import { FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Show } from "../ui/Notice.tsx"
import { type Column, GrowingTable } from "../ui/Table.tsx"
import { Secret } from "./Keys.tsx"

const roles: ReadonlyArray<readonly [OperatorRole, string]> = [
  ["viewer", "viewer: looks at everything"],
  ["maintainer", "maintainer: all but money and operators"],
  ["admin", "admin: everything"]
]

export const Operators = () => {
  const { loaded, reload } = useLoad((signal) => call("GET", "/admin/operators", { signal }), [])
  const [isAdding, setAdding] = useState(false)
  const [leaving, revoke] = useState<OperatorRecord | undefined>(undefined)
  const [changed, change] = useState<OperatorRecord | undefined>(undefined)
  return (
    <section class="stack">
      <div class="head">
        <h3>Operators</h3>
        <button type="button" class="primary" onClick={() => setAdding(true)}>
          New operator …
        </button>
      </div>
      <p class="small muted">
        Beside them whoever holds the token of the data directory is an admin: the audit log calls them “operator”.
      </p>
      <Show of={loaded}>
        {({ operators }) => (
          <GrowingTable
            label="Operators"
            columns={columnsWith({ change, revoke })}
            rows={operators}
            keyOf={({ name }) => name}
            empty="Nobody else yet."
          />
        )}
      </Show>
      {isAdding && <AddOperator onClose={() => setAdding(false)} onDone={reload} />}
      {changed !== undefined && <ChangeRole operator={changed} onClose={() => change(undefined)} onDone={reload} />}
      {leaving !== undefined && (
        <FormDialog
          title={`Revoke ${leaving.name}`}
          action="Revoke"
          isDanger
          send={async () => {
            await call("DELETE", `/admin/operators/${encodeURIComponent(leaving.name)}`)
            reload()
          }}
          onClose={() => revoke(undefined)}
        >
          <p>
            The secret opens nothing from the next request on, and their sessions end. This cannot be undone, and the
            name is not used again.
          </p>
        </FormDialog>
      )}
    </section>
  )
}

type Choose = (operator: OperatorRecord) => void

const columnsWith = ({
  change,
  revoke
}: {
  readonly change: Choose
  readonly revoke: Choose
}): ReadonlyArray<Column<OperatorRecord>> => [
  {
    title: "Name",
    by: ({ name }) => name,
    cell: ({ name }) => <a href={linkTo("audit", { operator: name })}>{name}</a>
  },
  { title: "Role", by: ({ role }) => role, cell: ({ role }) => <span class="badge accent">{role}</span> },
  { title: "Secret", cell: ({ prefix }) => <span class="mono">{prefix}…</span> },
  {
    title: "Last used",
    by: ({ lastUsedAt }) => lastUsedAt,
    cell: ({ lastUsedAt }) => <span class="nowrap">{lastUsedAt === undefined ? "never" : ago(lastUsedAt)}</span>
  },
  {
    title: "Added",
    by: ({ createdAt }) => createdAt,
    cell: ({ createdAt, madeBy }) => (
      <span>
        {moment(createdAt)} by {madeBy}
      </span>
    )
  },
  {
    title: "Action",
    cell: (operator) =>
      operator.revokedAt === undefined ? (
        <div class="actions">
          <button
            type="button"
            class="plain"
            aria-label={`Role of ${operator.name} …`}
            onClick={() => change(operator)}
          >
            Role …
          </button>
          <button type="button" class="plain" aria-label={`Revoke ${operator.name} …`} onClick={() => revoke(operator)}>
            Revoke …
          </button>
        </div>
      ) : (
        <span class="badge">revoked</span>
      )
  }
]

const ChangeRole = (given: {
  readonly operator: OperatorRecord
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const { name, role: before } = given.operator
  const [role, setRole] = useState<OperatorRole>(before)
  return (
    <FormDialog
      title={`Role of ${name}`}
      action="Change"
      isReady={role !== before}
      send={async () => {
        await call("PATCH", `/admin/operators/${encodeURIComponent(name)}`, { body: { role } })
        given.onDone()
      }}
      onClose={given.onClose}
    >
      <Choice label="Role" value={role} options={roles} onValue={setRole} />
      <p class="small muted">From the next request on; the secret and their sessions stay.</p>
    </FormDialog>
  )
}

const AddOperator = ({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) => {
  const [name, setName] = useState("")
  const [role, setRole] = useState<OperatorRole>("viewer")
  const [secret, setSecret] = useState<string | undefined>(undefined)
  const close = (): void => {
    onClose()
    if (secret !== undefined) onDone()
  }
  if (secret !== undefined) return <Secret title={`The secret of ${name}`} secret={secret} onClose={close} />
  return (
    <FormDialog
      title="New operator"
      action="Add"
      isReady={name !== ""}
      send={async () => setSecret((await call("POST", "/admin/operators", { body: { name, role } })).secret)}
      staysOpen
      onClose={onClose}
    >
      <Input label="Name" value={name} onValue={setName} required />
      <Choice label="Role" value={role} options={roles} onValue={setRole} />
      <p class="small muted">They sign in to this console with the secret that comes next.</p>
    </FormDialog>
  )
}
