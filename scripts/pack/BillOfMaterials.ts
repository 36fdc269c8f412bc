/**
 * Third-party code in a bundle: a bill of materials (CycloneDX 1.6) and the licences with their texts. Read from what
 * the bundler took in, so that neither names a package that is not there. No date and no serial number: the same bundle
 * has the same bill.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Component {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly texts: ReadonlyArray<string>
  /** As the lockfile has it, `sha512-` and Base64. */
  readonly integrity: string | undefined
}

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
}

const packagePath = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/
const licenceFile = /^(?:licen[cs]e|notice|copying|thirdpartynotices)/i

/** `inputs` are paths relative to `root`. Ordered by name and version; each version once. */
export const componentsOf = (root: string, inputs: ReadonlyArray<string>): ReadonlyArray<Component> => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lockfile
  const folders = new Set(inputs.flatMap((path) => packagePath.exec(path)?.[0] ?? []))
  const components = [...folders].map((folder) => componentOf(root, folder, packages[folder]?.integrity))
  const byKey = new Map(components.map((component) => [`${component.name} ${component.version}`, component]))
  return [...byKey.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, component]) => component)
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
}

const componentOf = (root: string, folder: string, integrity: string | undefined): Component => {
  const home = join(root, folder)
  if (!existsSync(join(home, "package.json"))) throw new Error(`${folder} has no package.json`)
  const { license, name, version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest
  if (license === undefined) throw new Error(`${name} ${version} names no licence`)
  const texts = readdirSync(home)
    .filter((file) => licenceFile.test(file))
    .sort()
    .map((file) => readFileSync(join(home, file), "utf8").trim())
  return { name, version, license, texts, integrity }
}

/** CycloneDX 1.6 in JSON, of the package `name` at `version`. */
export const billOf = (name: string, version: string, components: ReadonlyArray<Component>): string =>
  `${JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      version: 1,
      metadata: {
        component: {
          type: "application",
          "bom-ref": purlOf(name, version),
          name,
          version,
          purl: purlOf(name, version),
          licenses: [{ license: { id: "Apache-2.0" } }]
        }
      },
      components: components.map((component) => ({
        type: "library",
        "bom-ref": purlOf(component.name, component.version),
        name: component.name,
        version: component.version,
        purl: purlOf(component.name, component.version),
        licenses: [licenceOf(component.license)],
        ...(component.integrity?.startsWith("sha512-") === true && {
          hashes: [{ alg: "SHA-512", content: Buffer.from(component.integrity.slice(7), "base64").toString("hex") }]
        })
      })),
      dependencies: [
        { ref: purlOf(name, version), dependsOn: components.map((each) => purlOf(each.name, each.version)) }
      ]
    },
    undefined,
    2
  )}\n`

/** Several licences are an expression of SPDX. */
const licenceOf = (license: string): object =>
  /\s|\(/.test(license) ? { expression: license } : { license: { id: license } }

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`

/** One text for people: every component with its licence, then its texts. */
export const noticesOf = (components: ReadonlyArray<Component>): string => {
  const parts = components.map(({ license, name, texts, version }) =>
    [`${name} ${version}`, `Licence: ${license}`, ...(texts.length === 0 ? [] : ["", ...texts])].join("\n")
  )
  return `This package contains the following software of others.\n\n${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`
}
