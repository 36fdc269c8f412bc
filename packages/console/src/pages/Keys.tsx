/** Keys of one account: made, with a secret that is shown once, and revoked. */
import { useRef, useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { type Key, listKeys, madeBy, works } from "../service/operator.ts"
import { may, mayChange } from "../service/session.ts"
import { ago, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { CopyButton } from "../ui/CopyButton.tsx"
import { Check, Dialog, FormDialog, Input } from "../ui/Dialog.tsx"
import { Notice, Show } from "../ui/Notice.tsx"

/** `account`: at which an operator looks; undefined: the caller's own, by the account's own routes. */
export const Keys = ({ account, onChanged }: { readonly account?: string; readonly onChanged?: () => void }) => {
  const { loaded, reload } = useLoad((signal) => listKeys(account, signal), [account])
  const [isMaking, setMaking] = useState(false)
  const [revoked, revoke] = useState<Key | undefined>(undefined)
  const onDone = (): void => {
    reload()
    onChanged?.()
  }
  const isOwn = account === undefined
  return (
    <section class="stack tight" aria-label="Keys">
      <div class="head">
        <h3>Keys</h3>
        {(isOwn ? mayChange() : may("admin.createKey")) && (
          <button type="button" onClick={() => setMaking(true)}>
            New key …
          </button>
        )}
      </div>
      <Show of={loaded}>
        {(keys) => (
          <KeyList keys={keys} onRevoke={(isOwn ? mayChange() : may("admin.revokeKey")) ? revoke : undefined} />
        )}
      </Show>
      {isMaking && <CreateKey account={account} onClose={() => setMaking(false)} onDone={onDone} />}
      {revoked !== undefined && (
        <RevokeKey
          account={account}
          chosen={revoked}
          keys={loaded.value ?? []}
          onClose={() => revoke(undefined)}
          onDone={onDone}
        />
      )}
    </section>
  )
}

interface Asked {
  readonly account: string | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

const KeyList = (given: { readonly keys: ReadonlyArray<Key>; readonly onRevoke: ((key: Key) => void) | undefined }) => {
  const sorted = given.keys.toSorted(
    (one, other) => Number(works(other)) - Number(works(one)) || other.createdAt - one.createdAt
  )
  if (sorted.length === 0) return <p class="muted">No key. Wallets that are linked still open the account.</p>
  return (
    <ul class="keys">
      {sorted.map((key) => (
        <li key={key.id} class={works(key) ? "" : "ended"}>
          <div>
            <strong>{key.label === "" ? "no label" : key.label}</strong> <span class="mono muted">{key.prefix}…</span>
            <div class="small muted">{aboutKey(key, sorted)}</div>
          </div>
          {works(key) ? (
            given.onRevoke !== undefined && (
              <button
                type="button"
                class="plain danger"
                aria-label={`Revoke ${key.label === "" ? key.prefix : key.label} …`}
                onClick={() => given.onRevoke?.(key)}
              >
                Revoke …
              </button>
            )
          ) : (
            <span class="badge">{key.revokedAt === undefined ? "expired" : "revoked"}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

const aboutKey = (key: Key, all: ReadonlyArray<Key>): string =>
  [
    `made ${moment(key.createdAt)}`,
    key.lastUsedAt === undefined ? "never used" : `used ${ago(key.lastUsedAt)}`,
    ...(key.readOnly === true ? ["reads only"] : []),
    ...(key.agents === undefined ? [] : [`agents ${key.agents.join(", ")}`]),
    ...(key.subjects === undefined ? [] : [`subjects ${key.subjects.join(", ")}`]),
    ...(key.madeBy === undefined ? [] : [`by ${all.find(({ id }) => id === key.madeBy)?.label || key.madeBy}`]),
    ...(key.expiresAt === undefined ? [] : [`ends ${moment(key.expiresAt)}`])
  ].join(" · ")

const CreateKey = ({ account, onClose, onDone }: Asked) => {
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
      title={account === undefined ? "New key" : `New key of ${account}`}
      action="Create"
      send={async () => {
        const scope = { ...listed("agents", agents), ...listed("subjects", subjects) }
        const body = { label, ...scope, ...(isReadOnly && { readOnly: true }), ...(expiresIn !== "" && { expiresIn }) }
        const made = await (account === undefined
          ? call("POST", "/v1/keys", { body })
          : call("POST", "/admin/keys", { body: { account, ...body } }))
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
  const shown = useRef<HTMLPreElement>(null)
  return (
    <Dialog title={title} onClose={onClose} isKept>
      <Notice tone="warn">This is the only time that it is shown.</Notice>
      <pre tabIndex={0} ref={shown}>
        {secret}
      </pre>
      <div class="actions">
        <CopyButton text={secret} shown={shown} />
        <button type="button" class="primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  )
}

const RevokeKey = (given: Asked & { readonly chosen: Key; readonly keys: ReadonlyArray<Key> }) => {
  const { account, chosen, keys, onClose, onDone } = given
  const [keepsMade, setKeepsMade] = useState(false)
  const also = madeBy(chosen, keys)
  return (
    <FormDialog
      title={`Revoke the key ${chosen.label === "" ? chosen.prefix : chosen.label}`}
      action="Revoke"
      isDanger
      send={async () => {
        await call("DELETE", `${account === undefined ? "/v1" : "/admin"}/keys/${encodeURIComponent(chosen.id)}`, {
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
