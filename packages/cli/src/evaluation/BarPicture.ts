/** Horizontal bars of shares from 0 to 1 as SVG, one for each configuration, with their values at the end. */

export interface Bars {
  readonly name: string
  readonly values: ReadonlyArray<{ readonly group: string; readonly value: number }>
}

const colours = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2"] as const
const layout = { width: 760, left: 140, right: 60, top: 48, bar: 16, gap: 10 } as const

export const barPicture = (title: string, bars: ReadonlyArray<Bars>): string => {
  const groups = [...new Set(bars.flatMap(({ values }) => values.map(({ group }) => group)))]
  const legendHeight = groups.length > 1 ? groups.length * layout.bar + layout.gap : 0
  const blocks = bars.map((one) => one.values.length * layout.bar + layout.gap)
  const height = layout.top + legendHeight + blocks.reduce((sum, block) => sum + block, 0) + layout.gap
  const legend =
    groups.length > 1 ? groups.map((group, at) => legendEntry(group, at, layout.top + at * layout.bar)) : []
  let top = layout.top + legendHeight
  const drawn = bars.map((one, at) => {
    const block = barsAt(one, groups, top)
    top += blocks[at]!
    return block
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${layout.width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="12" y="26" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    ...legend,
    ...drawn,
    "</svg>\n"
  ].join("\n")
}

const barsAt = ({ name, values }: Bars, groups: ReadonlyArray<string>, top: number): string => {
  const full = layout.width - layout.left - layout.right
  const middle = top + (values.length * layout.bar) / 2 + 4
  const rects = values.map(({ group, value }, at) => {
    const y = top + at * layout.bar
    const width = Math.round(full * Math.max(0, Math.min(1, value)))
    const bar = `<rect x="${layout.left}" y="${y}" width="${width}" height="${layout.bar - 2}" fill="${colourOf(groups.indexOf(group))}"/>`
    return `${bar}<text x="${layout.left + width + 4}" y="${y + 11}">${value.toFixed(3)}</text>`
  })
  return `<text x="${layout.left - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>${rects.join("")}`
}

const legendEntry = (group: string, at: number, y: number): string =>
  `<rect x="12" y="${y}" width="10" height="10" fill="${colourOf(at)}"/><text x="28" y="${y + 10}">${escaped(group)}</text>`

const colourOf = (at: number): string => colours[at % colours.length]!

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
