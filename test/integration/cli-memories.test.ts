/** Memories from a terminal: found, remembered, forgotten, in a session; and how commands find the service. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type CliEnd, runMuniment } from "../support/CliProcess.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { entry, freePort } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const server = useSharedServer(withoutModel)
const folder = temporaryDirectory()

/** As a user whose environment names the service and the key. */
const user = async (name: string) => {
  const environment = { MUNIMENT_URL: `${server.url}/`, MUNIMENT_API_KEY: await server.newAccount(name) }
  return {
    environment,
    run: (...args: ReadonlyArray<string>): Promise<CliEnd> => runMuniment(args, environment),
    json: async (...args: ReadonlyArray<string>) => {
      const { code, err, out } = await runMuniment([...args, "--json"], environment)
      expect(code, err).toBe(0)
      return JSON.parse(out)
    }
  }
}

const seattle = '{"subject": "Alice", "fact": "Alice lives in Seattle"}'

describe("memories at a terminal", () => {
  it("are remembered as they are, found, and forgotten by id", async () => {
    const alice = await user("terminal-ids")
    const [stored] = (await alice.json("remember", "--kind", "factual_memory", seattle)).created
    const shown = await alice.run("search", "Seattle", "--agent", "assistant")
    expect(shown.out).toMatch(/^[01]\.\d{3} {2}factual_memory {2}subject: Alice, fact: Alice lives in Seattle/)
    expect(shown.out).toContain(stored.id)
    expect(await alice.run("forget", stored.id)).toMatchObject({ code: 0, out: "1 deleted." })
    expect((await alice.run("search", "Seattle")).out).toBe("Nothing found.")
  })

  it("are read out of a text, which is kept too", async () => {
    const alice = await user("terminal-text")
    const { out } = await alice.run("remember", "My name is Alice and I live in Seattle.", "--subject", "alice")
    expect(out).toMatch(/^\+ \w+ {2}.*Seattle/m)
    expect(out).toContain("1 of the messages stored")
    expect((await alice.json("search", "Seattle", "--subject", "alice")).memories.length).toBeGreaterThan(0)
  })

  it("are found with the turns around them", async () => {
    const alice = await user("terminal-around")
    const path = "/v1/memories"
    const turns = ["Good morning.", "My kayak is green.", "A fine colour."]
    const conversation = turns.map((content, at) => ({ id: `k${at}`, role: at === 2 ? "assistant" : "user", content }))
    await server.call("POST", path, {
      key: alice.environment.MUNIMENT_API_KEY,
      body: { agentId: "assistant", threadId: "k", conversation }
    })
    const { out } = await alice.run("search", "kayak", "--context", "1")
    const lines = out.split("\n")
    const at = lines.findIndex((line) => line.includes("kayak is green") && line.includes("conversation_message"))
    expect([lines[at - 1], lines[at + 1]]).toEqual(["       user: Good morning.", "       assistant: A fine colour."])
    const usual = await alice.run("search", "kayak", "--rerank")
    expect(usual).toMatchObject({ code: 0, err: "In the usual order: this service has no language model." })
    expect(usual.out).toContain("kayak is green")
    const refused = await alice.run("search", "kayak", "--context", "6")
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("context") })
  })

  it("are handed over as an agent would have them in its prompt", async () => {
    const alice = await user("terminal-context")
    const scope = ["--agent", "assistant", "--subject", "alice"]
    const rule = '{"text": "Answer in metric units."}'
    await alice.run("remember", "--kind", "instruction_memory", rule, "--subject", "alice")
    await alice.run("remember", "My name is Alice and I live in Seattle.", "--subject", "alice")
    const { out } = await alice.run("context", "Where is Seattle?", ...scope, "--tokens", "200")
    expect(out).toContain("## Standing instructions\n- Answer in metric units")
    expect(out).toContain("I live in Seattle.")
    const profile = await alice.json("context", ...scope)
    expect(profile.sections.map(({ name }: { readonly name: string }) => name)).not.toContain("found")
    expect((await alice.run("context", "--subject", "nobody")).out).toBe("Nothing is known.")
  })

  it("are forgotten by filters only when that is confirmed", async () => {
    const alice = await user("terminal-filters")
    await alice.run("remember", "--kind", "factual_memory", seattle, "--subject", "alice")
    await alice.run("remember", "--kind", "factual_memory", seattle.replaceAll("Alice", "Bob"), "--subject", "bob")
    expect((await alice.run("forget", "--subject", "alice")).out).toBe("1 would be deleted; give --yes to do it.")
    expect(await alice.json("forget", "--subject", "alice", "--yes")).toEqual({ deleted: 1, dryRun: false })
    expect((await alice.json("search", "Seattle")).memories).toHaveLength(1)
  })

  it("have versions that are shown and restored, and feedback", async () => {
    const alice = await user("terminal-versions")
    const [stored] = (await alice.json("remember", "--kind", "factual_memory", seattle)).created
    expect((await alice.run("memories", "restore", stored.id)).out).toMatch(
      /^It is the latest: factual_memory {2}.*Alice/
    )
    const schema = JSON.stringify({ type: "object", properties: { email: { type: "string" } } })
    const registered = { name: "person", description: "d", uniqueOn: ["email"], schema }
    const { MUNIMENT_API_KEY: key } = alice.environment
    await server.call("POST", "/v1/schemas", { key, body: registered })
    const person = (city: string) => JSON.stringify({ email: "ann", city })
    const [first] = (await alice.json("remember", "--kind", "person", person("Oslo"))).created
    const judged = ["memories", "feedback", first.id]
    expect((await alice.run(...judged, "useful", "--query", "where is Ann")).out).toBe("Kept; useful 1 of 1 times.")
    expect((await alice.run(...judged, "not_useful", "--query", "Ann")).out).toBe("Kept; useful 1 of 2 times.")
    await alice.run("remember", "--kind", "person", person("Rome"))
    expect((await alice.run("memories", "restore", first.id)).out).toMatch(/^Restored: person {2}.*city: Oslo/)
    const { out } = await alice.run("memories", "history", first.id)
    const shown = out.split("\n").map((line) => line.replaceAll(/ {2,}/g, "  ").split("  "))
    expect(shown.map(([, how, , useful, , data]) => [how, useful, data?.match(/Oslo|Rome/)?.[0]])).toEqual([
      ["HOW", "USEFUL", undefined],
      ["restored", "-", "Oslo"],
      ["stored", "-", "Rome"],
      ["stored", "1 of 2", "Oslo"]
    ])
    const found = await alice.json("memories", "history", first.id, "--limit", "1")
    expect([found.total, found.versions.length, found.versions[0].restoredFrom]).toEqual([3, 1, first.id])
    for (const what of [["history"], ["restore"], ["feedback", "useful"]]) {
      const [name = "", ...more] = what
      const refused = await alice.run("memories", name, "mem_none", ...more)
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("no such memory") })
    }
  })

  it("are not touched by a command that does not say which, and bad data is refused", async () => {
    const alice = await user("terminal-refused")
    for (const args of [["forget"], ["forget", "mem_1", "--agent", "a"]]) {
      expect(await alice.run(...args)).toMatchObject({ code: 1, err: expect.stringContaining("not both") })
    }
    for (const text of ["no JSON", "[1]"]) {
      const refused = await alice.run("remember", "--kind", "factual_memory", text)
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("as a JSON object") })
    }
  })

  it("show themselves in a session: what a line recalls, then what is remembered of it", async () => {
    const alice = await user("terminal-chat")
    await alice.run("remember", "My name is Alice and I live in Seattle.", "--subject", "alice")
    const child = spawn(process.execPath, [entry, "chat", "--subject", "alice", "--json"], {
      env: { ...process.env, ...alice.environment },
      stdio: ["pipe", "pipe", "inherit"]
    })
    let out = ""
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()))
    child.stdin.end("Is Seattle my home?\n\nMy dog is called Rex.\n/quit\nMy cat is called Tom.\n")
    expect((await once(child, "close"))[0]).toBe(0)
    const [question, statement, ...others] = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(others).toEqual([])
    expect(question.recalled.length).toBeGreaterThan(0)
    expect(JSON.stringify(question.recalled)).toContain("Seattle")
    expect(statement.message).toBe("My dog is called Rex.")
    expect(JSON.stringify(statement.remembered.created)).toContain("Rex")
  })
})

describe("the service and the account", () => {
  it("come from a profile, whose file is its owner's alone and whose key is not shown", async () => {
    const profiles = join(folder, "kept", "profiles.json")
    const apiKey = await server.newAccount("profile")
    const here = { MUNIMENT_PROFILES: profiles, MUNIMENT_DATA_DIR: folder, MUNIMENT_PORT: String(await freePort()) }
    const save = ["profile", "save", "default", "--url", server.url]
    expect(await runMuniment(save, { ...here, MUNIMENT_API_KEY: apiKey })).toMatchObject({ code: 0 })
    expect(statSync(profiles).mode & 0o777).toBe(0o600)
    expect((await runMuniment(["credits"], here)).out).toContain("balance")
    const listed = await runMuniment(["profile", "list"], here)
    expect(listed.out).toMatch(/^default +yes +http/m)
    expect(listed.out).not.toContain(apiKey)
    expect(await runMuniment(["credits"], { ...here, MUNIMENT_PROFILE: "work" })).toMatchObject({
      code: 1,
      err: expect.stringContaining("no profile work")
    })
    expect((await runMuniment(["profile", "remove", "default"], here)).code).toBe(0)
    expect(readFileSync(profiles, "utf8")).not.toContain(apiKey)
    expect((await runMuniment(["credits"], here)).err).toContain("No account")
  })

  it("a profile's key is not sent to a service that is named otherwise", async () => {
    const profiles = join(folder, "profiles.json")
    writeFileSync(profiles, JSON.stringify({ profiles: { default: { url: server.url, apiKey: "mun_kept" } } }))
    const here = { MUNIMENT_PROFILES: profiles }
    for (const run of [
      runMuniment(["credits", "--url", server.url], here),
      runMuniment(["credits"], { ...here, MUNIMENT_URL: server.url })
    ]) {
      expect(await run).toMatchObject({ code: 1, err: expect.stringContaining("No account") })
    }
  })

  it("a damaged file of profiles is named, and not quoted", async () => {
    const profiles = join(folder, "damaged.json")
    writeFileSync(profiles, '{"profiles": {"default": {"apiKey": "mun_secret"')
    const { code, err } = await runMuniment(["search", "x"], { MUNIMENT_PROFILES: profiles })
    expect([code, err]).toEqual([1, expect.stringContaining("damaged.json is not a file of profiles")])
    expect(err).not.toContain("mun_secret")
  })
})
