/** A script makes wallets and has each sign its first request. */
import { Limits } from "@muniment/domain/Limits"
import { signWalletRequest } from "@muniment/trust/WalletRequest"
import { evmSigner } from "@muniment/trust/WalletSigner"
import { randomBytes } from "node:crypto"
import { type Attack, atMost, countsOf } from "../Field.ts"

const wallets = 150

export const signUpFlood: Attack = {
  name: "wallets",
  title: `${wallets} wallets sign up from one address`,
  run: async ({ own, target: { host, port } }) => {
    const statuses = await Promise.all(
      Array.from({ length: wallets }, async () => {
        const signer = evmSigner(randomBytes(32).toString("hex"))
        const headers = await signWalletRequest(signer, {
          method: "GET",
          path: "/memories",
          body: new Uint8Array(),
          timestampMillis: Date.now()
        })
        const { status } = await fetch(`http://${host}:${port}/v1/memories`, { headers })
        return status
      })
    )
    // The service of its own has a public address and no setting: closed.
    const allowed = own === undefined ? Limits.signUpsPerClientHour : 0
    const served = statuses.filter((status) => status === 200).length
    return { said: countsOf(statuses), goals: [atMost("sign-up flood: accounts opened", allowed, served, "")] }
  }
}
