/** Wrong signatures from one address, while a wallet elsewhere signs its requests well. */
import { Limits } from "@muniment/domain/Limits"
import { signWalletRequest } from "@muniment/trust/WalletRequest"
import { evmSigner, type WalletSigner } from "@muniment/trust/WalletSigner"
import { randomBytes } from "node:crypto"
import { type Attack, atMost, countsOf, type Field } from "../Field.ts"
import { p99, pause } from "../Load.ts"
import { requestBytes, Wire } from "../Wire.ts"

const junkPerSecond = 300
const honestEveryMillis = 100
const path = "/v1/account"

const honestBytes = async ({ target }: Field, signer: WalletSigner): Promise<Buffer> => {
  const text = { method: "GET", path: "/account", body: new Uint8Array(), timestampMillis: Date.now() }
  return requestBytes(target, "GET", path, { headers: await signWalletRequest(signer, text) })
}

const junkBytes = ({ target }: Field): Buffer =>
  requestBytes(target, "GET", path, {
    headers: {
      "x-wallet-address": `0x${randomBytes(20).toString("hex")}`,
      "x-wallet-timestamp": String(Date.now()),
      "x-wallet-signature": `0x${randomBytes(64).toString("hex")}1b`
    }
  })

export const signatureFlood: Attack = {
  name: "signatures",
  title: `${junkPerSecond} wrong signatures a second from one address`,
  run: async (field) => {
    const { own, seconds, target } = field
    if (own === undefined) return undefined
    const signer = evmSigner(randomBytes(32).toString("hex"))
    await own.newKey("signs-well")
    await own.linkWallet("signs-well", signer.wallet.address)
    const junk = new Wire(target, 256)
    const honest = new Wire(target, 8, "127.0.0.9")
    const run = { isOver: false }
    const flood = (async () => {
      const statuses: Array<number> = []
      const underWay: Array<Promise<void>> = []
      for (const startedMillis = performance.now(); !run.isOver; await pause(10)) {
        const due = ((performance.now() - startedMillis) / 1_000) * junkPerSecond
        while (underWay.length < due) {
          underWay.push(junk.send(junkBytes(field)).then(({ status }) => void statuses.push(status)))
        }
      }
      await Promise.all(underWay)
      return statuses
    })()
    const millis: Array<number> = []
    let refused = 0
    for (
      const endMillis = performance.now() + seconds * 1_000;
      performance.now() < endMillis;
      await pause(honestEveryMillis)
    ) {
      const reply = await honest.send(await honestBytes(field, signer))
      if (reply.status === 200) millis.push(reply.millis)
      else refused += 1
    }
    run.isOver = true
    const statuses = await flood
    for (const wire of [junk, honest]) wire.close()
    const verified = statuses.filter((status) => status === 401).length
    const budget =
      Math.ceil((1 + seconds / 60) * Limits.wrongSignaturesPerMinute) + Limits.signaturesUnderWayOfClientMax
    return {
      said: countsOf(statuses),
      goals: [
        atMost("signature flood: wrong ones looked at", budget, verified, `of ${statuses.length}`),
        atMost("signature flood: p99 of an honest wallet elsewhere", 500, p99(millis), "ms"),
        atMost("signature flood: honest requests not served", 0, refused, `of ${millis.length + refused}`)
      ]
    }
  }
}
