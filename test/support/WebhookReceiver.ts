/** A receiver of webhooks over HTTP that answers as it is told, and checks signatures by WebCrypto. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Delivery {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> }
}

/** A status; or silence; or a redirect to another path of the receiver; or an answer without end. */
export type Reply = number | "hang" | "redirect" | "flood"

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string
  readonly deliveries: Array<Delivery>
  /** Settable. */
  answer: (delivery: Delivery) => Reply
}

export const webhookSecretText = `whsec_${Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString("base64")}`

export const startWebhookReceiver = async (): Promise<WebhookReceiver> => {
  const deliveries: Array<Delivery> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString()
      const delivery = { path: request.url ?? "", headers: request.headers, text, body: JSON.parse(text) }
      deliveries.push(delivery)
      reply(response, receiver.answer(delivery))
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    deliveries,
    answer: () => 204,
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
  return receiver
}

const reply = (response: ServerResponse, told: Reply): void => {
  if (told === "hang") return
  if (told === "redirect") {
    response.writeHead(307, { location: "/elsewhere" }).end()
    return
  }
  if (told === "flood") {
    response.writeHead(200)
    const more = setInterval(() => response.write("x".repeat(65_536)), 5)
    response.on("close", () => clearInterval(more))
    return
  }
  response.writeHead(told).end()
}

/** Whether one of the signatures is by the secret, as the specification has it. */
export const isSigned = async ({ headers, text }: Delivery, secret = webhookSecretText): Promise<boolean> => {
  const { subtle } = globalThis.crypto
  const raw = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const key = await subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  const signed = Buffer.from(`${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${text}`)
  const signatures = String(headers["webhook-signature"]).split(" ")
  const verdicts = signatures.map((signature) =>
    subtle.verify("HMAC", key, Buffer.from(signature.replace(/^v1,/, ""), "base64"), signed)
  )
  return (await Promise.all(verdicts)).includes(true)
}
