/**
 * The two pictures that reports show: lines (recall against latency, a series per engine) and bars
 * (ratios). A picture is a Vega-Lite specification; Vega draws it as SVG without a browser.
 */
import { isMissing, loadPeer } from "./Peers.ts"

export interface Picture {
  /** Part of the file's name: letters, digits and hyphens. */
  readonly name: string
  readonly title: string
  readonly spec: object
}

export interface Axis {
  readonly title: string
  readonly log?: boolean
  /** Lowest and highest value shown; from the data when left out. */
  readonly domain?: readonly [number, number]
}

export interface Series {
  readonly name: string
  readonly points: ReadonlyArray<{ readonly x: number; readonly y: number }>
}

export interface Bar {
  readonly name: string
  readonly value: number
  /** Bars of one group stand together; one group when left out. */
  readonly group?: string
}

const width = 640
const height = 380
const barHeight = 16
const schema = "https://vega.github.io/schema/vega-lite/v6.json"

export const lineChart = (options: {
  readonly name: string
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly series: ReadonlyArray<Series>
}): Picture => ({
  name: options.name,
  title: options.title,
  spec: {
    ...frame(options.title),
    width,
    height,
    data: { values: options.series.flatMap(({ name, points }) => points.map((point) => ({ ...point, series: name }))) },
    mark: { type: "line", point: true, clip: true },
    encoding: {
      x: channel("x", options.x),
      y: channel("y", options.y),
      // A curve follows its points in the order they were given: its own knob, not the axis.
      order: null,
      color: { field: "series", type: "nominal", title: null, sort: options.series.map(({ name }) => name) }
    }
  }
})

/** Horizontal bars with their values written at the end. */
export const barChart = (options: {
  readonly name: string
  readonly title: string
  readonly value: Axis
  readonly bars: ReadonlyArray<Bar>
}): Picture => {
  const isGrouped = options.bars.some(({ group }) => group !== undefined)
  const bars = options.bars.map((bar) => ({ ...bar, label: barLabel(bar.value) }))
  // On a log axis a bar has no natural foot: it stands on the axis' lower end.
  const foot = options.value.log === true ? { x2: { datum: options.value.domain?.[0] ?? 1 } } : {}
  const y = { field: "name", type: "nominal", title: null, sort: null, axis: { labelLimit: 420 } }
  return {
    name: options.name,
    title: options.title,
    spec: {
      ...frame(options.title),
      width,
      height: { step: barHeight },
      data: { values: bars },
      encoding: {
        y,
        ...(isGrouped ? { yOffset: { field: "group", sort: null } } : {}),
        x: channel("value", options.value)
      },
      layer: [
        {
          mark: { type: "bar", clip: true },
          encoding: { ...foot, ...(isGrouped ? { color: { field: "group", title: null, sort: null } } : {}) }
        },
        { mark: { type: "text", align: "left", dx: 4 }, encoding: { text: { field: "label" } } }
      ]
    }
  }
}

/** The picture as SVG, or why it cannot be drawn here. */
export const renderPicture = async (
  picture: Picture
): Promise<{ readonly svg: string } | { readonly reason: string }> => {
  const [vega, lite] = await Promise.all([loadPeer("vega", isVega), loadPeer("vega-lite", isVegaLite)])
  if (isMissing(vega)) return vega
  if (isMissing(lite)) return lite
  const { spec } = lite.module.compile(picture.spec)
  const view = new vega.module.View(vega.module.parse(spec), { renderer: "none" })
  const svg = await view.toSVG()
  view.finalize()
  return { svg: `${svg}\n` }
}

const frame = (title: string) => ({
  $schema: schema,
  background: "white",
  padding: 12,
  title: { text: title, anchor: "start" },
  config: { font: "sans-serif", view: { stroke: "#ddd" }, axis: { gridColor: "#eee" } }
})

const channel = (field: string, { title, log = false, domain }: Axis) => ({
  field,
  type: "quantitative",
  title,
  scale: {
    ...(log ? { type: "log" } : { type: "linear", zero: false }),
    ...(domain === undefined ? {} : { domain, nice: false })
  }
})

const barLabel = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)))

interface Vega {
  readonly parse: (spec: object) => object
  readonly View: new (
    runtime: object,
    options: { readonly renderer: "none" }
  ) => { readonly toSVG: () => Promise<string>; readonly finalize: () => void }
}

interface VegaLite {
  readonly compile: (spec: object) => { readonly spec: object }
}

const isVega = (loaded: unknown): loaded is Vega =>
  typeof loaded === "object" && loaded !== null && "View" in loaded && "parse" in loaded

const isVegaLite = (loaded: unknown): loaded is VegaLite =>
  typeof loaded === "object" && loaded !== null && "compile" in loaded
