/** The gate on a real listener: handlers end when the test says so, and time is a number. */
import { once } from "node:events"
import { type IncomingMessage, request, type ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Option } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { Gate, leaveLane } from "@muniment/server/admission/Gate"
import { PollClock } from "@muniment/server/admission/Turnstile"
import { receivedBody } from "@muniment/server/admission/RequestBody"
import { boundedServer } from "@muniment/server/http/Listener"

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly text: string
}

interface Work {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

let nowMillis: number
let gate: Gate
let server: ReturnType<typeof boundedServer>
let port: number
/** Requests in work, in the order of their beginning. */
let begun: Array<Work>
let onBegin: () => void

beforeEach(async () => {
  nowMillis = 0
  begun = []
  onBegin = () => undefined
  gate = new Gate({
    nowMillis: () => nowMillis,
    clientOf: () => "client",
    isExempt: (_sender, path) => path === "/health/live",
    identify: ({ headers }, done) =>
      queueMicrotask(() => done(headers["authorization"] === "Bearer late" ? accountOf("late") : undefined)),
    routeOf: ({ url }) => url ?? "",
    headersFor: () => ({ "x-request-id": "id" })
  })
  for (const name of ["noisy", "quiet"]) {
    recognise(name)
  }
  server = boundedServer(gate, new PollClock(() => 0))
  const own = begun
  server.on("request", (incoming: IncomingMessage, response: ServerResponse) => {
    own.push({ request: incoming, response })
    if (own === begun) onBegin()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  port = typeof address === "object" && address !== null ? address.port : 0
})
afterEach(async () => {
  const closed = new Promise((settle) => server.close(settle))
  server.closeAllConnections()
  await closed
})

interface Sent {
  readonly answer: Promise<Got>
  readonly abort: () => void
}

const send = (
  path: string,
  { body, key = "noisy" }: { readonly body?: string | Buffer; readonly key?: string } = {}
): Sent => {
  const call = request({
    port,
    host: "127.0.0.1",
    path,
    agent: false,
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-length": body.length }) }
  })
  const answer = new Promise<Got>((settle, fail) => {
    call.on("error", fail)
    call.on("response", (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.on("end", () => settle({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
  })
  answer.catch(() => undefined)
  call.end(body)
  return { answer, abort: () => call.destroy() }
}

const accountOf = (id: string) => ({ id, name: id, plan: "free", createdAt: 0 }) as const
const recognise = (id: string): void =>
  gate.recognise({ remoteAddress: Option.none(), headers: { authorization: `Bearer ${id}` } }, accountOf(id))
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((wake) => setTimeout(wake, 2))
}
const lane = (kind: "read" | "write" = "read") => gate.state.lanes.get(kind)!
/** As many as there are places, all in work. */
const fill = async (): Promise<ReadonlyArray<Sent>> => {
  const sent = Array.from({ length: lane().limit }, () => send("/v1/memories"))
  await until(() => begun.length === sent.length)
  return sent
}
const bodyOf = ({ request: incoming }: Work): string => receivedBody(incoming)?.toString() ?? ""

describe("places", () => {
  it("are given in turn: an account that just came is served before a crowd of another", async () => {
    const places = (await fill()).length
    const crowd = Array.from({ length: 5 }, () => send("/v1/memories"))
    await until(() => lane().waiting === 5)
    const quiet = send("/v1/memories", { key: "stranger" })
    await until(() => lane().waiting === 6)
    begun[0]!.response.end()
    begun[1]!.response.end()
    await until(() => begun.length === places + 2)
    for (const { response } of begun) response.end("served")
    expect((await quiet.answer).status).toBe(200)
    expect(begun.slice(places, places + 2).map(({ request: { headers } }) => headers.authorization)).toContain(
      "Bearer stranger"
    )
    for (const { abort } of crowd) abort()
  })

  it("are spared for a calm account: it begins beside a crowd, with up to four requests", async () => {
    const places = (await fill()).length
    const crowd = send("/v1/memories")
    await until(() => lane().waiting === 1)
    const quiet = Array.from({ length: 5 }, () => send("/v1/memories", { key: "quiet" }))
    await until(() => begun.length === places + 4 && lane().waiting === 2)
    begun.at(-1)!.response.end("served")
    expect((await Promise.race(quiet.map(({ answer }) => answer))).text).toBe("served")
    for (const { abort } of [crowd, ...quiet]) abort()
  })

  it("that do not come free: the refusal is in the contract's form, with Retry-After", async () => {
    await fill()
    const waiting = send("/v1/memories")
    await until(() => lane().waiting === 1)
    nowMillis = Limits.queueWaitMillisMax + 1
    gate.refuseOverdue()
    const { headers, status, text } = await waiting.answer
    expect([status, headers["retry-after"], headers["x-request-id"]]).toEqual([
      503,
      expect.stringMatching(/^[1-9]\d*$/),
      "id"
    ])
    expect(JSON.parse(text)).toEqual({
      success: false,
      code: "overloaded",
      error: expect.stringMatching(/try again in \d+ s/),
      details: [{ path: "wait", message: expect.stringMatching(/^read: a wait of \d+ ms was expected$/) }]
    })
    const refused = { work: "read", bound: "wait", status: 503, route: "/v1/memories" }
    expect(gate.state.refused).toEqual([{ ...refused, count: 1 }])
    const millis = nowMillis
    expect(gate.takeRefusedLines()).toEqual({
      lines: [{ method: "GET", route: "/v1/memories", status: 503, millis, account: "noisy" }],
      unlisted: 0
    })
    expect(gate.takeRefusedLines()).toEqual({ lines: [], unlisted: 0 })
  })

  it("are not taken by clients that left", async () => {
    const sent = await fill()
    const gone = send("/v1/memories")
    await until(() => lane().waiting === 1)
    gone.abort()
    await until(() => lane().waiting === 0)
    for (const { abort } of sent) abort()
    await until(() => lane().inWork === 0)
    expect(begun).toHaveLength(sent.length)
  })

  it("are not needed for health", async () => {
    const places = (await fill()).length
    const health = send("/health/live", { key: "quiet" })
    await until(() => begun.length === places + 1)
    begun.at(-1)!.response.end("live")
    expect((await health.answer).text).toBe("live")
  })

  it("of one kind of work do not keep another kind waiting", async () => {
    const places = (await fill()).length
    const write = send("/v1/memories", { body: "{}" })
    await until(() => begun.length === places + 1)
    begun.at(-1)!.response.end("written")
    expect((await write.answer).text).toBe("written")
  })

  it("are given up by what waits for something outside, which is answered later", async () => {
    const sent = send("/v1/memories")
    await until(() => begun.length === 1)
    leaveLane(begun[0]!.request)
    leaveLane(begun[0]!.request)
    expect(lane().inWork).toBe(0)
    begun[0]!.response.end("paid")
    expect((await sent.answer).text).toBe("paid")
    expect(lane().inWork).toBe(0)
  })

  it("are counted as taken until the answer is sent, and free afterwards", async () => {
    const sent = await fill()
    expect(lane().inWork).toBe(sent.length)
    for (const { response } of begun) response.end()
    await Promise.all(sent.map(({ answer }) => answer))
    await until(() => lane().inWork === 0)
  })
})

describe("pipelined requests", () => {
  const pipelined = (count: number) => {
    const socket = connect(port, "127.0.0.1")
    let text = ""
    socket.on("error", () => socket.destroy())
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    const one = (at: number) =>
      `GET /v1/memories?limit=${at} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer noisy\r\n\r\n`
    socket.write(Array.from({ length: count }, (_, at) => one(at)).join(""))
    return { socket, textOf: () => text }
  }

  it("begin one after the other, and are answered in their order", async () => {
    const { socket, textOf } = pipelined(3)
    for (let at = 0; at < 3; at++) {
      await until(() => begun.length === at + 1)
      await new Promise(setImmediate)
      expect([begun.length, lane().inWork]).toEqual([at + 1, 1])
      begun[at]!.response.end(`answer ${at};`)
    }
    await until(() => textOf().includes("answer 2;"))
    expect([...textOf().matchAll(/answer (\d);/g)].map(([, at]) => at)).toEqual(["0", "1", "2"])
    socket.destroy()
  })

  it("end their connection when more of them wait than a client needs", async () => {
    const { socket } = pipelined(Limits.pipelinedRequestsMax + 2)
    await until(() => socket.closed && lane().inWork === 0)
    expect(begun.length).toBeLessThan(2)
  })

  it("hold no place once their client has left", async () => {
    const { socket } = pipelined(4)
    await until(() => begun.length > 0)
    // All four have been read meanwhile.
    await new Promise((wake) => setTimeout(wake, 20))
    for (const { response } of begun.slice(1)) response.end()
    socket.destroy()
    await until(() => lane().inWork === 0)
    expect(lane().waiting).toBe(0)
  })
})

describe("bodies", () => {
  it.each([0, 1, 1_000, Limits.smallBodyBytesMax + 1, 300_000, Limits.requestBodyBytesMax])(
    "of %i bytes arrive whole",
    async (length) => {
      const body = Buffer.alloc(length, "m")
      onBegin = () => begun[0]!.response.end(String(bodyOf(begun[0]!).length))
      expect((await send("/v1/memories", { body }).answer).text).toBe(String(length))
      await until(() => gate.state.bodyBytes === 0)
    }
  )

  it("in chunks arrive whole, and hold room for their real length", async () => {
    const socket = connect(port, "127.0.0.1")
    socket.write("POST /v1/memories HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    await until(() => gate.state.bodyBytes === Limits.requestBodyBytesMax)
    expect(begun).toHaveLength(0)
    socket.write("6\r\n world\r\n0\r\n\r\n")
    await until(() => begun.length === 1)
    expect([gate.state.bodyBytes, bodyOf(begun[0]!)]).toEqual([11, "hello world"])
    socket.destroy()
    await until(() => gate.state.bodyBytes === 0)
  })

  it("that announce themselves get leave to come", async () => {
    const socket = connect(port, "127.0.0.1")
    socket.write("POST /v1/memories HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    const [said] = (await once(socket, "data")) as [Buffer]
    expect(said.toString()).toMatch(/^HTTP\/1.1 100 Continue/)
    socket.write("hello")
    await until(() => begun.length === 1)
    expect(bodyOf(begun[0]!)).toBe("hello")
    socket.destroy()
  })

  it("beyond the account's room are refused unread, others have room", async () => {
    const large = "m".repeat(Limits.requestBodyBytesMax)
    const held = Array.from({ length: Limits.accountBodiesBytesMax / Limits.requestBodyBytesMax }, () =>
      send("/v1/memories", { body: large })
    )
    await until(() => begun.length === held.length)
    const { headers, status, text } = await send("/v1/memories", { body: large }).answer
    expect([status, headers["retry-after"], JSON.parse(text).details[0].path]).toEqual([429, "5", "account_bytes"])
    onBegin = () => begun.at(-1)!.response.end("served")
    expect((await send("/v1/memories", { body: large, key: "quiet" }).answer).text).toBe("served")
    expect((await send("/v1/memories", { body: "small" }).answer).text).toBe("served")
    for (const { abort } of held) abort()
    await until(() => gate.state.bodyBytes === 0)
  })

  it("that find no room among strangers' have their account's, also with a key that was not seen before", async () => {
    const large = "m".repeat(Limits.requestBodyBytesMax)
    const strangers = Array.from({ length: Limits.accountBodiesBytesMax / Limits.requestBodyBytesMax }, () =>
      send("/v1/memories", { body: large, key: "unknown" })
    )
    await until(() => begun.length === strangers.length)
    expect((await send("/v1/memories", { body: large, key: "unknown too" }).answer).status).toBe(429)
    onBegin = () => begun.at(-1)!.response.end("served")
    expect((await send("/v1/memories", { body: large, key: "late" }).answer).text).toBe("served")
    for (const { abort } of strangers) abort()
  })

  it("that are large keep their account's room as long again as the work on them took, after a refusal longer", async () => {
    const large = "m".repeat(Limits.requestBodyBytesMax)
    const both = [send("/v1/memories", { body: large }), send("/v1/memories", { body: large })]
    await until(() => begun.length === both.length)
    nowMillis = 100
    for (const { response } of begun) response.end("served")
    await Promise.all(both.map(({ answer }) => answer))
    await until(() => gate.state.bodyBytes === 0)
    onBegin = () => {
      nowMillis += 50
      begun.at(-1)!.response.end("served")
    }
    expect((await send("/v1/memories", { body: large }).answer).text).toBe("served")
    await until(() => gate.state.bodyBytes === 0)
    const { headers, status, text } = await send("/v1/memories", { body: large }).answer
    expect([status, headers["retry-after"], JSON.parse(text).details[0].path]).toEqual([429, "5", "account_bytes"])
    expect((await send("/v1/memories", { body: large, key: "quiet" }).answer).text).toBe("served")
    nowMillis = 100 + Limits.crowdedBodyRestMillis - 1
    expect((await send("/v1/memories", { body: large }).answer).status).toBe(429)
    nowMillis += 1
    expect((await send("/v1/memories", { body: large }).answer).text).toBe("served")
  })

  it("that do not arrive give way to others", async () => {
    const slow = Array.from({ length: Limits.bodiesBytesMax / Limits.requestBodyBytesMax }, (_, at) => {
      recognise(`slow${at}`)
      const socket = connect(port, "127.0.0.1")
      socket.write(
        `POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer slow${at}\r\nContent-Length: ${Limits.requestBodyBytesMax}\r\n\r\nm`
      )
      return socket
    })
    await until(() => gate.state.bodyBytes === Limits.bodiesBytesMax)
    const large = "m".repeat(Limits.requestBodyBytesMax)
    expect((await send("/v1/memories", { body: large }).answer).status).toBe(503)
    nowMillis = Limits.slowBodyMillis + 1
    onBegin = () => begun.at(-1)!.response.end("served")
    const answers = slow.map((socket) => once(socket, "data"))
    expect((await send("/v1/memories", { body: large }).answer).text).toBe("served")
    for (const [answer] of await Promise.all(answers)) {
      expect(String(answer)).toMatch(/^HTTP\/1.1 503[^]*retry-after: 1[^]*slow_body/)
    }
  })

  it("that were never sent leave nothing behind when their client goes", async () => {
    const socket = connect(port, "127.0.0.1")
    socket.write("POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
    await until(() => gate.state.bodyBytes === 100_000)
    socket.destroy()
    await until(() => gate.state.bodyBytes === 0)
    expect(begun).toHaveLength(0)
  })
})

describe("an answer that its caller does not read", () => {
  /** More than an account may leave unread, and what the system takes of it. */
  const answerBytes = Limits.accountAnswersBytesMax + 16_777_216

  /** Asks, and reads nothing. */
  const deaf = (): Socket => {
    const socket = connect(port, "127.0.0.1").pause()
    socket.on("error", () => socket.destroy())
    socket.write("GET /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer noisy\r\n\r\n")
    return socket
  }

  const unread = async (): Promise<Socket> => {
    onBegin = () => begun.at(-1)!.response.end(Buffer.alloc(answerBytes))
    const connected = once(server, "connection") as Promise<[Socket]>
    const socket = deaf()
    const [own] = await connected
    own.once("close", () => socket.destroy())
    await until(() => gate.state.answerBytes > 0)
    return own
  }

  it("holds no place, and its account is told to read before it gets more", async () => {
    const own = await unread()
    expect([lane().inWork, gate.state.answerBytes > Limits.accountAnswersBytesMax]).toEqual([0, true])
    const { headers, status, text } = await send("/v1/memories").answer
    expect([status, headers["retry-after"], JSON.parse(text).details[0].path]).toEqual([429, "1", "account_answers"])
    onBegin = () => begun.at(-1)!.response.end("served")
    expect((await send("/v1/memories", { key: "quiet" }).answer).text).toBe("served")
    own.destroy()
    await until(() => gate.state.answerBytes === 0)
    expect((await send("/v1/memories").answer).text).toBe("served")
  })

  it("lets nothing of its account begin that has waited meanwhile", async () => {
    deaf()
    await until(() => begun.length === 1)
    const others = Array.from({ length: lane().limit - 1 }, () => send("/v1/memories"))
    const next = send("/v1/memories")
    await until(() => lane().waiting === 1)
    begun[0]!.response.end(Buffer.alloc(answerBytes))
    const { status, text } = await next.answer
    expect([status, JSON.parse(text).details[0].path]).toEqual([429, "account_answers"])
    expect(lane()).toMatchObject({ inWork: others.length, waiting: 0 })
    expect(begun).toHaveLength(1 + others.length)
  })

  it("is cut off after a time", async () => {
    const own = await unread()
    nowMillis = Limits.answerMillisMax
    gate.refuseOverdue()
    expect(own.destroyed).toBe(false)
    nowMillis += 1
    gate.refuseOverdue()
    await until(() => own.destroyed)
    expect(gate.state).toMatchObject({ answerBytes: 0, answersCut: 1 })
  })
})

it("an upgrade does not go around the gate", async () => {
  await fill()
  const socket = connect(port, "127.0.0.1")
  socket.write("GET /v1/memories HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
  await until(() => lane().waiting === 1)
  socket.destroy()
})

it("a crowd of new connections does not wait in the kernel behind work", async () => {
  // Each takes longer than a slice of work, and its sender asks again at once.
  onBegin = () => {
    nowMillis += 10
    begun.at(-1)!.response.end("served")
  }
  const ask = "GET /v1/memories HTTP/1.1\r\nHost: x\r\n\r\n"
  const busy = Array.from({ length: 4 }, () => {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => socket.destroy())
    socket.on("data", () => socket.write(ask))
    socket.write(ask)
    return socket
  })
  await until(() => begun.length > 20)
  let accepted = 0
  server.on("connection", () => (accepted += 1))
  const before = begun.length
  const crowd = Array.from({ length: 60 }, () => connect(port, "127.0.0.1"))
  await until(() => accepted === crowd.length)
  // One connection was accepted for each request that was begun.
  expect(begun.length - before).toBeLessThan(crowd.length / 2)
  for (const socket of [...busy, ...crowd]) socket.destroy()
})

describe("a connection that is kept alive", () => {
  const askHead = "GET /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer noisy\r\n"
  const ask = `${askHead}\r\n`
  const post = "POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer noisy\r\nContent-Length: 2\r\n\r\n{}"

  /** A connection that has been served, and a crowd that waits for much longer than the bound. */
  const amongCrowd = async () => {
    const socket = connect(port, "127.0.0.1")
    let text = ""
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk))
    onBegin = () => begun[0]!.response.end("served")
    socket.write(ask)
    await until(() => text.endsWith("served") && lane().inWork === 0)
    onBegin = () => undefined
    begun.length = 0
    const places = await fill()
    for (const { response } of begun.splice(0)) {
      nowMillis += 10_000
      response.end()
    }
    await Promise.all(places.map(({ answer }) => answer))
    const crowd = [...(await crowded()), ...(await crowded())]
    text = ""
    return { socket, answers: () => text, crowd }
  }
  /** Sends until one is refused. */
  const crowded = async () => {
    const sent: Array<Sent> = []
    const before = gate.state.refused.length === 0 ? 0 : gate.state.refused[0]!.count
    while ((gate.state.refused[0]?.count ?? 0) === before) {
      const known = lane().waiting + lane().inWork
      sent.push(send("/v1/memories"))
      await until(() => lane().waiting + lane().inWork > known || (gate.state.refused[0]?.count ?? 0) > before)
    }
    return sent
  }

  it("gets its refusals in front of Node's parser, and is served again afterwards", async () => {
    const { answers, crowd, socket } = await amongCrowd()
    let parsed = 0
    server.on("arrival", () => (parsed += 1))
    socket.write(ask)
    await until(() => answers().endsWith("}"))
    expect([answers().split("\r\n")[0], parsed]).toEqual(["HTTP/1.1 503 Service Unavailable", 0])
    expect(answers()).toMatch(/\r\nretry-after: \d+\r\n[^]*"code":"overloaded"/)
    expect(gate.takeRefusedLines().lines.at(-1)).toMatchObject({ status: 503, route: "/v1/memories", account: "noisy" })
    const refused = answers()
    // Health is not refused; a write goes to another lane.
    onBegin = () => begun.at(-1)!.response.end("served")
    socket.write(post)
    await until(() => answers().endsWith("served"))
    expect([answers().slice(refused.length, refused.length + 15), parsed]).toEqual(["HTTP/1.1 200 OK", 1])
    for (const { abort } of crowd) abort()
    socket.destroy()
  })

  it("keeps the order of its answers when it sends several at once", async () => {
    const { answers, crowd, socket } = await amongCrowd()
    onBegin = () => begun.at(-1)!.response.end("served")
    // The write is served; what follows it in the same packet, and in the next one, is answered after it.
    socket.write(`${post}${ask}`)
    socket.write(ask)
    await until(() => answers().split("HTTP/1.1 ").length === 4)
    expect([...answers().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "503", "503"])
    for (const { abort } of crowd) abort()
    socket.destroy()
  })

  it("counts what it asks though it is refused: a crowd is not calm for being refused early", async () => {
    const { crowd, socket } = await amongCrowd()
    const ofQuiet = { method: "GET", url: "/v1/memories", headers: { authorization: "Bearer quiet" } }
    for (let count = 0; count < 20; count++) {
      expect(gate.refusalOf({ ...ofQuiet, body: Buffer.alloc(0), missing: 0 }, undefined)?.answer.status).toBe(503)
    }
    expect((await send("/v1/memories", { key: "quiet" }).answer).status).toBe(503)
    // A moment later it finds a spare place.
    nowMillis += 1_000
    const before = begun.length
    const quiet = send("/v1/memories", { key: "quiet" })
    await until(() => begun.length === before + 1)
    for (const { abort } of [...crowd, quiet]) abort()
    socket.destroy()
  })

  it("may send a request in parts", async () => {
    const { answers, crowd, socket } = await amongCrowd()
    socket.write(askHead)
    await new Promise((wake) => setTimeout(wake, 20))
    socket.write("\r\n")
    await until(() => answers().endsWith("}"))
    expect(answers()).toMatch(/^HTTP\/1\.1 503/)
    for (const { abort } of crowd) abort()
    socket.destroy()
  })
})
