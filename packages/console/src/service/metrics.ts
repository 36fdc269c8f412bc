/** The service's metrics, from the text format of Prometheus. */
export type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly labels: Labels
  readonly value: number
}

export interface Metrics {
  readonly samples: (name: string) => ReadonlyArray<Sample>
  /** Undefined: there is no such metric yet. */
  readonly sum: (name: string, keep?: (labels: Labels) => boolean) => number | undefined
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

export const parseMetrics = (text: string): Metrics => {
  const byName = new Map<string, Array<Sample>>()
  for (const row of text.split("\n")) {
    const match = row.startsWith("#") ? null : line.exec(row)
    if (match === null) continue
    const [, name = "", labelText = "", value = ""] = match
    const labels = Object.fromEntries([...labelText.matchAll(label)].map(([, key = "", held = ""]) => [key, held]))
    const known = byName.get(name)
    const sample = { labels, value: value === "+Inf" ? Infinity : Number(value) }
    if (known === undefined) byName.set(name, [sample])
    else known.push(sample)
  }
  const samples = (name: string) => byName.get(name) ?? []
  return {
    samples,
    sum: (name, keep = () => true) => {
      const found = byName.get(name)
      return found?.filter(({ labels }) => keep(labels)).reduce((total, { value }) => total + value, 0)
    }
  }
}
