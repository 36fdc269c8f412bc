/** Sign-in: an operator by a link of the command line, an account by its key. */
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { asApiError } from "../service/load.ts"
import { session } from "../service/session.ts"
import { Icon } from "../ui/Icon.tsx"
import { Notice, Refused, Said } from "../ui/Notice.tsx"

export const SignInPage = ({ reason }: { readonly reason: string | undefined }) => {
  const [key, setKey] = useState("")
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const signIn = (event: Event): void => {
    event.preventDefault()
    call("POST", "/console/session", { body: { key } }).then(
      (answer) => (session.value = answer.session),
      (cause: unknown) => showError(asApiError(cause))
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
          <span>API key of an account</span>
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
        <p class="small muted">
          Operators: run <code>npm run muniment -- console</code> on the machine of the service and open the link that
          it prints. It works once, for ten minutes.
        </p>
      </form>
    </main>
  )
}
