/** Starts the console: a one-time link signs in, otherwise the session that the browser has. */
import { render } from "preact"
import { App } from "./App.tsx"
import { call } from "./service/api.ts"
import { asApiError } from "./service/load.ts"
import { clearAddress } from "./service/route.ts"
import { endedBecause, session } from "./service/session.ts"
import { applyTheme } from "./service/browser.ts"

const linkPattern = /^#link=([\w-]+)$/

const signIn = async (): Promise<void> => {
  const link = linkPattern.exec(location.hash)?.[1]
  if (link !== undefined) {
    // Neither the history nor a copied address keeps it.
    clearAddress()
    try {
      session.value = (await call("POST", "/console/session", { body: { link } })).session
      return
    } catch (cause) {
      endedBecause.value = asApiError(cause).message
    }
  }
  try {
    session.value = (await call("GET", "/console/session")).session
  } catch (cause) {
    endedBecause.value = asApiError(cause).message
    session.value = null
  }
}

applyTheme()
const root = document.getElementById("app")
if (root !== null) {
  root.textContent = ""
  render(<App />, root)
}
await signIn()
