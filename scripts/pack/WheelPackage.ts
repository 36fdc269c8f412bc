/**
 * The published `muniment` for Python: a wheel, built by the Python that is given from a copy of `packages/python` with
 * the licence and a bill of materials, which PEP 639 and PEP 770 place in its metadata. It contains nothing of others;
 * the bill names the packages that it asks for, in the ranges of `pyproject.toml`. The same sources and the same Python
 * make the same bytes: every file has one date, and the build backend is pinned.
 */
import { execFile } from "node:child_process"
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

export const wheelBytesMax = 100_000

/** Seconds: the first one that a zip archive can hold, in any time zone. */
const dateOfFiles = String(Date.UTC(1980, 0, 2) / 1_000)

export interface WheelBuilder {
  /** From 3.10 on, with pip. */
  readonly python: string
  /** Whether it has the build backend already; otherwise pip brings that from a registry. */
  readonly hasBackend: boolean
}

/** Builds in `folder`, which is empty; the path of the wheel in it. */
export const buildWheel = async (root: string, folder: string, builder: WheelBuilder): Promise<string> => {
  const home = join(root, "packages", "python")
  const project = readFileSync(join(home, "pyproject.toml"), "utf8")
  const source = join(folder, "source")
  const built = join(folder, "built")
  cpSync(join(home, "src"), join(source, "src"), { recursive: true, filter: (path) => !path.endsWith("__pycache__") })
  copyFileSync(join(home, "README.md"), join(source, "README.md"))
  copyFileSync(join(root, "LICENSE"), join(source, "LICENSE"))
  writeFileSync(join(source, "bom.cdx.json"), billOfProject(project))
  const place = "[tool.hatch.build.targets.wheel]\n"
  writeFileSync(join(source, "pyproject.toml"), project.replace(place, `${place}sbom-files = ["bom.cdx.json"]\n`))
  const offline = builder.hasBackend ? ["--no-build-isolation", "--no-index"] : []
  const options = ["--no-deps", "--quiet", "--disable-pip-version-check", "--wheel-dir", built, ...offline]
  await promisify(execFile)(builder.python, ["-m", "pip", "wheel", ...options, source], {
    env: { ...process.env, SOURCE_DATE_EPOCH: dateOfFiles, PYTHONDONTWRITEBYTECODE: "1" }
  })
  const [name, ...others] = readdirSync(built).filter((file) => file.endsWith(".whl"))
  if (name === undefined || others.length > 0) throw new Error(`pip made ${[name, ...others].join(", ")}`)
  return join(built, name)
}

/** CycloneDX 1.6. */
const billOfProject = (project: string): string => {
  const version = /^version = "(.+)"$/m.exec(project)?.[1]
  const [before = "", after = ""] = project.split("[project.optional-dependencies]\n")
  const required = requirementsIn(/^dependencies = .+$/m.exec(before)?.[0] ?? "")
  const optional = requirementsIn(after.split("\n[")[0] ?? "")
  if (version === undefined || required.size === 0) throw new Error("pyproject.toml has no version or no dependencies")
  const component = { type: "library", "bom-ref": `pkg:pypi/muniment@${version}`, name: "muniment", version }
  const components = [...new Map([...optional, ...required])].sort(([one], [other]) => (one < other ? -1 : 1))
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: { ...component, purl: component["bom-ref"], licenses: [{ license: { id: "Apache-2.0" } }] }
    },
    components: components.map(([name, range]) => ({
      type: "library",
      "bom-ref": `pkg:pypi/${name}`,
      name,
      purl: `pkg:pypi/${name}`,
      scope: required.has(name) ? "required" : "optional",
      properties: [{ name: "muniment:range", value: range }]
    })),
    dependencies: [{ ref: component["bom-ref"], dependsOn: components.map(([name]) => `pkg:pypi/${name}`) }]
  }
  return `${JSON.stringify(bill, undefined, 2)}\n`
}

/** Name and range of each requirement in quotes. */
const requirementsIn = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/"([a-z0-9-]+)([^"]*)"/g)].map(([, name = "", range = ""]) => [name, range]))
