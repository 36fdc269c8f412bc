/** Starts the console: a one-time link signs in, otherwise the session that the browser has. */
import { render } from "preact"
import { App } from "./App.tsx"
import { call } from "./service/api.ts"
import { asApiError } from "./service/load.ts"
import { clearAddress } from "./service/route.ts"
import { endedBecause, hasModel, hasOpenId, session } from "./service/session.ts"
import { applyTheme } from "./service/browser.ts"

/** What a sign-in at a provider that was refused leads back with. */
const refusalPattern = /^#refused=(\w+)$/
const refusals: Readonly<Record<string, string>> = {
  operator_only: "Operators sign in on the machine of the service only, unless the console is remote.",
  operator_role: "You have no role here: MUNIMENT_OPENID_ROLES of the service gives them."
}

const linkPattern = /^#link=([\w-]+)$/

const signIn = async (): Promise<void> => {
  const link = linkPattern.exec(location.hash)?.[1]
  if (link !== undefined) {
    // Neither the history nor a copied address keeps it.
    clearAddress()
    try {
      await call("POST", "/console/session", { body: { link } })
    } catch (cause) {
      endedBecause.value = asApiError(cause).message
    }
  }
  const refusal = refusalPattern.exec(location.hash)?.[1]
  if (refusal !== undefined) {
    clearAddress()
    endedBecause.value = refusals[refusal] ?? "The sign-in failed: begin it again. The log of the service says why."
  }
  try {
    const answer = await call("GET", "/console/session")
    hasOpenId.value = answer.openId
    hasModel.value = answer.languageModel
    session.value = answer.session
  } catch (cause) {
    endedBecause.value = asApiError(cause).message
    session.value = null
  }
}

// A link that is opened in a tab of the console changes the address alone.
addEventListener("hashchange", () => {
  if (linkPattern.test(location.hash)) location.reload()
})

applyTheme()
const root = document.getElementById("app")
if (root !== null) {
  root.textContent = ""
  render(<App />, root)
}
await signIn()
