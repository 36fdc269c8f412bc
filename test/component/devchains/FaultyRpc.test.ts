import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type FaultyRpc, startFaultyRpc } from "../../../scripts/devchains/FaultyRpc.ts"
import { type SolanaChain, startSolanaChain } from "../../../scripts/devchains/SolanaChain.ts"

let chain: SolanaChain
let direct: FaultyRpc
let proxy: FaultyRpc

// The second proxy counts what reaches the node.
beforeEach(async () => {
  chain = await startSolanaChain()
  direct = await startFaultyRpc(chain.rpcUrl)
  proxy = await startFaultyRpc(direct.url)
})

afterEach(async () => {
  await proxy.stop()
  await direct.stop()
  await chain.stop()
})

const post = (body: unknown, signal?: AbortSignal) =>
  fetch(proxy.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal })
  })

const call = (method: string, ...params: ReadonlyArray<unknown>) => ({ jsonrpc: "2.0", id: 1, method, params })

describe("startFaultyRpc", () => {
  it("passes calls and batches on as long as nothing is to fail", async () => {
    expect(await (await post(call("getHealth"))).json()).toMatchObject({ result: "ok" })
    const answers = await (await post([call("getHealth"), call("noSuchMethod")])).json()
    expect(answers).toMatchObject([{ result: "ok" }, { error: { code: -32_601 } }])
    expect([proxy.calls("getHealth"), proxy.calls("noSuchMethod"), proxy.calls()]).toEqual([2, 1, 3])
  })

  it("refuses: the caller loses its connection, the node gets nothing", async () => {
    proxy.failNext("getHealth", "refuse")
    await expect(post(call("getHealth"))).rejects.toThrow("fetch failed")
    expect([proxy.calls("getHealth"), direct.calls("getHealth")]).toEqual([1, 0])
    expect((await post(call("getHealth"))).status).toBe(200)
  })

  it("drops the response: the node acts, the caller gets no answer", async () => {
    proxy.failNext("getHealth", "drop-response", 2)
    await expect(post(call("getHealth"))).rejects.toThrow("fetch failed")
    await expect(post(call("getHealth"))).rejects.toThrow("fetch failed")
    expect(direct.calls("getHealth")).toBe(2)
    expect((await post(call("getHealth"))).status).toBe(200)
  })

  it("answers 500, and the node gets nothing", async () => {
    proxy.failNext("getHealth", "http-500")
    expect((await post(call("getHealth"))).status).toBe(500)
    expect(direct.calls()).toBe(0)
  })

  it("hangs until the caller gives up, and the node gets nothing", async () => {
    proxy.failNext("getHealth", "hang")
    const giving = new AbortController()
    const refused = expect(post(call("getHealth"), giving.signal)).rejects.toThrow(/abort/)
    await expect.poll(() => proxy.calls()).toBe(1)
    giving.abort()
    await refused
    expect([proxy.calls(), direct.calls()]).toEqual([1, 0])
  })

  it("fails a whole batch for one call in it, and leaves other calls alone", async () => {
    proxy.failNext(({ method, params }) => method === "getBalance" && Array.isArray(params), "http-500")
    expect((await post([call("getHealth"), call("getSlot")])).status).toBe(200)
    expect((await post([call("getHealth"), call("getBalance", chain.usdc)])).status).toBe(500)
    expect((await post([call("getHealth"), call("getBalance", chain.usdc)])).status).toBe(200)
  })

  it("is down for every call, and up again without the faults of before", async () => {
    proxy.failNext("getHealth", "http-500")
    proxy.down()
    await expect(post(call("getSlot"))).rejects.toThrow("fetch failed")
    await expect(post(call("getHealth"))).rejects.toThrow("fetch failed")
    proxy.up()
    expect((await post(call("getHealth"))).status).toBe(200)
  })

  it("is away when its node is", async () => {
    await direct.stop()
    await expect(post(call("getHealth"))).rejects.toThrow("fetch failed")
  })
})
