/** The manifests in `deploy` name only variables that there are, and the ports that a node has. */
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"

const repository = resolve(import.meta.dirname, "../../..")
const textOf = (path: string) => readFileSync(join(repository, path), "utf8")

const documented = new Set(
  [...textOf("packages/server/docs/configuration.md").matchAll(/^- `(MUNIMENT_\w+)` \(/gm)].map(([, name]) => name)
)
const defaultOf = (name: string) =>
  Number(new RegExp(`^- \`${name}\` \\(\`(\\d+)\`\\):`, "m").exec(textOf("packages/server/docs/configuration.md"))?.[1])

const namesIn = (path: string) => new Set(textOf(path).match(/\bMUNIMENT_\w+/g))

const ofClusters = ["deploy/compose-cluster.yaml", "deploy/kubernetes/muniment.yaml"]
const manifests = globSync("deploy/**/*.yaml", { cwd: repository })

describe("the manifests in deploy", () => {
  it.each(manifests)("%s names variables that there are", (path) => {
    for (const name of namesIn(path)) expect(documented).toContain(name)
  })

  it.each(ofClusters)("%s has what makes a process a node", (path) => {
    expect(manifests).toContain(path)
    const needed = ["MUNIMENT_DATABASE_URL", "MUNIMENT_BASES", "MUNIMENT_CLUSTER_SECRET", "MUNIMENT_NODE_HOST"]
    expect([...namesIn(path)]).toEqual(expect.arrayContaining(needed))
  })

  it("one-node.yaml keeps its data in a volume, on a root that is read-only, and forwards public routes alone", () => {
    const text = textOf("deploy/kubernetes/one-node.yaml")
    expect(text.match(/^kind: \w+/gm)).toEqual(["kind: StatefulSet", "kind: Service", "kind: Ingress"])
    for (const line of [
      "replicas: 1",
      "readOnlyRootFilesystem: true",
      "{ name: data, mountPath: /data }",
      "name: data"
    ])
      expect(text).toContain(line)
    expect(text).toContain(`containerPort: ${defaultOf("MUNIMENT_PORT")} }`)
    const forwarded = [...text.matchAll(/- \{ path: (\S+), pathType: (\w+)/g)].map(([, path, type]) => [path, type])
    const isForwarded = (path: string) =>
      forwarded.some(([of, type]) => path === of || (type === "Prefix" && path.startsWith(`${of}/`)))
    const [, , globs = ""] = /(@public path) (.+)/.exec(textOf("packages/server/docs/security.md")) ?? []
    for (const glob of globs.split(" ")) expect([glob, isForwarded(glob.replace("*", "x"))]).toEqual([glob, true])
    for (const path of ["/admin/accounts", "/metrics", "/"]) expect([path, isForwarded(path)]).toEqual([path, false])
  })

  it("opens the ports that a node listens at", () => {
    const found = [...textOf("deploy/kubernetes/muniment.yaml").matchAll(/containerPort: (\d+)/g)].map(([, port]) =>
      Number(port)
    )
    const nodePort = defaultOf("MUNIMENT_NODE_PORT")
    expect(found).toEqual([defaultOf("MUNIMENT_PORT"), nodePort, nodePort + 1])
  })
})
