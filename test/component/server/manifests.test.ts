/** The manifests in `deploy` name only variables that there are, and the ports that a node has. */
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"

const repository = resolve(import.meta.dirname, "../../..")
const textOf = (path: string) => readFileSync(join(repository, path), "utf8")

const documented = new Set(
  [...textOf("packages/server/docs/configuration.md").matchAll(/^\| `(MUNIMENT_\w+)` \|/gm)].map(([, name]) => name)
)
const defaultOf = (name: string) =>
  Number(new RegExp(`^\\| \`${name}\` \\| \`(\\d+)\``, "m").exec(textOf("packages/server/docs/configuration.md"))?.[1])

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

  it("opens the ports that a node listens at", () => {
    const found = [...textOf("deploy/kubernetes/muniment.yaml").matchAll(/containerPort: (\d+)/g)].map(([, port]) =>
      Number(port)
    )
    const nodePort = defaultOf("MUNIMENT_NODE_PORT")
    expect(found).toEqual([defaultOf("MUNIMENT_PORT"), nodePort, nodePort + 1])
  })
})
