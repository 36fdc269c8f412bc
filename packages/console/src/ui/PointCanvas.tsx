/**
 * Points in the plane: zoom by wheel, buttons and keys, pan by drag and arrows, lasso by drag with that tool or Shift, a
 * click picks the nearest. Draws at most once a frame.
 */
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks"
import { nextFrame, theme } from "../service/browser.ts"

interface CanvasPoint {
  readonly x: number
  readonly y: number
}

interface CanvasLabel extends CanvasPoint {
  readonly text: string
}

interface Given {
  readonly label: string
  readonly points: ReadonlyArray<CanvasPoint>
  /** By point: index into `colours`. */
  readonly groupOf: Uint8Array
  /** Design tokens; undefined: the group is hidden. */
  readonly colours: ReadonlyArray<string | undefined>
  readonly labels: ReadonlyArray<CanvasLabel>
  /** Others are dimmed; empty: none is. */
  readonly selected: ReadonlySet<number>
  readonly tool: "pan" | "lasso"
  readonly onPick: (point: number | undefined) => void
  readonly onLasso: (points: ReadonlySet<number>) => void
}

interface View {
  x: number
  y: number
  /** Pixels for 1 of the plane, whose sides are 2. */
  scale: number
}

/** Share of the canvas between the points that are farthest apart. */
const fitShare = 0.86
/** Pixels of the canvas for each name at least. */
const namePixels = 22_000
const zoomStep = 1.4
const panPixels = 60
const pickPixels = 12
const clickPixels = 4
const scaleMax = 40_000

export const PointCanvas = (given: Given) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const latest = useRef(given)
  latest.current = given
  const drawing = useMemo(() => new Drawing(latest), [])
  useLayoutEffect(() => (canvas.current === null ? undefined : drawing.attach(canvas.current)), [])
  useEffect(() => drawing.fit(), [given.points])
  useEffect(() => drawing.draw())
  // Colours are read when it draws.
  void theme.value
  return (
    <div class="plane">
      <canvas
        ref={canvas}
        role="application"
        aria-label={`${given.label}. Arrow keys move, plus and minus zoom, 0 shows all, Escape ends a choice.`}
        tabIndex={0}
        class={given.tool}
        onPointerDown={drawing.down}
        onPointerMove={drawing.move}
        onPointerUp={drawing.up}
        onKeyDown={drawing.key}
      />
      <div class="zoom">
        <button type="button" onClick={() => drawing.zoom(zoomStep)}>
          + <span class="hidden">Zoom in</span>
        </button>
        <button type="button" onClick={() => drawing.zoom(1 / zoomStep)}>
          − <span class="hidden">Zoom out</span>
        </button>
        <button type="button" onClick={() => drawing.fit()}>
          All
        </button>
      </div>
    </div>
  )
}

class Drawing {
  readonly #given: { readonly current: Given }
  #canvas: HTMLCanvasElement | undefined
  readonly #view: View = { x: 0, y: 0, scale: 1 }
  #drag: { readonly isLasso: boolean; readonly path: Array<CanvasPoint> } | undefined
  #isDue = false

  constructor(given: { readonly current: Given }) {
    this.#given = given
  }

  attach(canvas: HTMLCanvasElement): () => void {
    this.#canvas = canvas
    const wheel = (event: WheelEvent): void => {
      event.preventDefault()
      this.zoom(Math.exp(-event.deltaY / 400), { x: event.offsetX, y: event.offsetY })
    }
    canvas.addEventListener("wheel", wheel, { passive: false })
    const observer = new ResizeObserver(() => {
      this.fit()
    })
    observer.observe(canvas)
    return () => {
      observer.disconnect()
      canvas.removeEventListener("wheel", wheel)
      this.#canvas = undefined
    }
  }

  fit(): void {
    if (this.#canvas === undefined) return
    const { clientHeight, clientWidth } = this.#canvas
    const [across, up] = [extentOf(this.#given.current.points, "x"), extentOf(this.#given.current.points, "y")]
    const scale = fitShare * Math.min(clientWidth / across.size, clientHeight / up.size)
    Object.assign(this.#view, { x: across.middle, y: up.middle, scale: Math.max(1, scale) })
    this.draw()
  }

  /** About a place of the canvas; default: its middle. */
  zoom(factor: number, at?: CanvasPoint): void {
    if (this.#canvas === undefined) return
    const { clientHeight, clientWidth } = this.#canvas
    const place = at ?? { x: clientWidth / 2, y: clientHeight / 2 }
    const before = this.#inPlane(place)
    this.#view.scale = Math.min(scaleMax, Math.max(20, this.#view.scale * factor))
    const after = this.#inPlane(place)
    this.#view.x += before.x - after.x
    this.#view.y += before.y - after.y
    this.draw()
  }

  draw(): void {
    if (this.#isDue) return
    this.#isDue = true
    nextFrame(() => {
      this.#isDue = false
      const context = this.#canvas?.getContext("2d")
      if (this.#canvas === undefined || context === null || context === undefined) return
      this.#paint(this.#canvas, context)
    })
  }

  readonly down = (event: PointerEvent): void => {
    this.#canvas?.setPointerCapture(event.pointerId)
    this.#drag = { isLasso: this.#given.current.tool === "lasso" || event.shiftKey, path: [placeOf(event)] }
  }

  readonly move = (event: PointerEvent): void => {
    const drag = this.#drag
    const last = drag?.path.at(-1)
    if (drag === undefined || last === undefined) return
    const place = placeOf(event)
    drag.path.push(place)
    if (!drag.isLasso) {
      this.#view.x -= (place.x - last.x) / this.#view.scale
      this.#view.y += (place.y - last.y) / this.#view.scale
    }
    this.draw()
  }

  readonly up = (event: PointerEvent): void => {
    const drag = this.#drag
    this.#drag = undefined
    const [first] = drag?.path ?? []
    if (drag === undefined || first === undefined) return
    const place = placeOf(event)
    const isClick = drag.path.every((one) => distance(one, first) <= clickPixels)
    if (isClick) this.#given.current.onPick(this.#nearest(place))
    else if (drag.isLasso) this.#given.current.onLasso(this.#within(drag.path))
    this.draw()
  }

  readonly key = (event: KeyboardEvent): void => {
    const step = panPixels / this.#view.scale
    const keys: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => (this.#view.x -= step),
      ArrowRight: () => (this.#view.x += step),
      ArrowUp: () => (this.#view.y += step),
      ArrowDown: () => (this.#view.y -= step),
      "+": () => this.zoom(zoomStep),
      "-": () => this.zoom(1 / zoomStep),
      "0": () => this.fit(),
      Escape: () => this.#given.current.onLasso(new Set())
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
    this.draw()
  }

  #paint(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D): void {
    const { clientHeight: height, clientWidth: width } = canvas
    const ratio = window.devicePixelRatio
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio)
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio)
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, canvas.width, canvas.height)
    const style = getComputedStyle(canvas)
    const { colours, points, selected } = this.#given.current
    const radius = Math.min(6, (points.length > 1_000 ? 2 : 3) + Math.log2(1 + this.#view.scale / 500)) * ratio
    const dots = colours.map((colour) =>
      colour === undefined ? undefined : dotOf(style.getPropertyValue(colour), radius)
    )
    this.#dots(context, dots, ratio, selected.size === 0 ? 0.85 : 0.16)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.#names(context, style)
    if (selected.size === 1) this.#ring(context, selected, radius / ratio, style.getPropertyValue("--text"))
    context.setTransform(1, 0, 0, 1, 0, 0)
    // Above the names, which would hide a single one.
    if (selected.size > 0) this.#dots(context, dots, ratio, 1, selected)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    if (this.#drag?.isLasso === true) this.#line(context, this.#drag.path, style.getPropertyValue("--accent"))
  }

  /** A small picture for each point: many times faster than circles where no graphics card draws. */
  #dots(
    context: CanvasRenderingContext2D,
    dots: ReadonlyArray<HTMLCanvasElement | undefined>,
    ratio: number,
    alpha: number,
    only?: ReadonlySet<number>
  ): void {
    const { groupOf, points } = this.#given.current
    const { height, width } = context.canvas
    context.globalAlpha = alpha
    for (let at = 0; at < points.length; at++) {
      const dot = dots[groupOf[at]!]
      if (dot === undefined || only?.has(at) === false) continue
      const place = this.#onCanvas(points[at]!)
      const x = Math.round(place.x * ratio - dot.width / 2)
      const y = Math.round(place.y * ratio - dot.height / 2)
      if (x > -dot.width && y > -dot.height && x < width && y < height) context.drawImage(dot, x, y)
    }
    context.globalAlpha = 1
  }

  /** Whole ones, of places in view; the first ones win where names would lie on each other. */
  #names(context: CanvasRenderingContext2D, style: CSSStyleDeclaration): void {
    const height = 16
    const taken: Array<readonly [left: number, top: number, right: number, bottom: number]> = []
    const { clientHeight, clientWidth: width } = context.canvas
    const namesMax = Math.ceil((width * clientHeight) / namePixels)
    context.font = `550 ${width < 500 ? 11 : 12}px ${style.fontFamily}`
    context.textAlign = "center"
    context.textBaseline = "middle"
    context.lineWidth = 4
    context.lineJoin = "round"
    context.strokeStyle = style.getPropertyValue("--card")
    context.fillStyle = style.getPropertyValue(this.#given.current.selected.size > 1 ? "--line-strong" : "--text")
    for (const label of this.#given.current.labels) {
      const { x: middle, y } = this.#onCanvas(label)
      if (taken.length >= namesMax) return
      if (middle < 0 || middle > width || y < 0 || y > clientHeight) continue
      const half = context.measureText(label.text).width / 2 + context.lineWidth
      const x = Math.max(half, Math.min(width - half, middle))
      const box = [x - half, y - height / 2, x + half, y + height / 2] as const
      if (taken.some(([l, t, r, b]) => box[0] < r && box[2] > l && box[1] < b && box[3] > t)) continue
      taken.push(box)
      context.strokeText(label.text, x, y)
      context.fillText(label.text, x, y)
    }
  }

  #ring(context: CanvasRenderingContext2D, selected: ReadonlySet<number>, radius: number, colour: string): void {
    context.strokeStyle = colour
    context.lineWidth = 2
    for (const point of selected) {
      const { x, y } = this.#onCanvas(this.#given.current.points[point]!)
      context.beginPath()
      context.arc(x, y, radius + 4, 0, 2 * Math.PI)
      context.stroke()
    }
  }

  #line(context: CanvasRenderingContext2D, path: ReadonlyArray<CanvasPoint>, colour: string): void {
    context.strokeStyle = colour
    context.lineWidth = 1.5
    context.beginPath()
    for (const { x, y } of path) context.lineTo(x, y)
    context.closePath()
    context.stroke()
    context.globalAlpha = 0.1
    context.fillStyle = colour
    context.fill()
    context.globalAlpha = 1
  }

  #onCanvas({ x, y }: CanvasPoint): CanvasPoint {
    const { clientHeight = 0, clientWidth = 0 } = this.#canvas ?? {}
    return {
      x: clientWidth / 2 + (x - this.#view.x) * this.#view.scale,
      y: clientHeight / 2 - (y - this.#view.y) * this.#view.scale
    }
  }

  #inPlane({ x, y }: CanvasPoint): CanvasPoint {
    const { clientHeight = 0, clientWidth = 0 } = this.#canvas ?? {}
    return {
      x: this.#view.x + (x - clientWidth / 2) / this.#view.scale,
      y: this.#view.y - (y - clientHeight / 2) / this.#view.scale
    }
  }

  #isShown(point: number): boolean {
    const { colours, groupOf } = this.#given.current
    return colours[groupOf[point]!] !== undefined
  }

  #nearest(place: CanvasPoint): number | undefined {
    let best: number | undefined
    let least = pickPixels
    this.#given.current.points.forEach((point, at) => {
      const away = distance(this.#onCanvas(point), place)
      if (away > least || !this.#isShown(at)) return
      least = away
      best = at
    })
    return best
  }

  #within(path: ReadonlyArray<CanvasPoint>): ReadonlySet<number> {
    const found = new Set<number>()
    this.#given.current.points.forEach((point, at) => {
      if (this.#isShown(at) && isInside(this.#onCanvas(point), path)) found.add(at)
    })
    return found
  }
}

/** Extent of the points; without any, or with all in one place, the whole plane. */
const extentOf = (points: ReadonlyArray<CanvasPoint>, axis: "x" | "y") => {
  let [least, most] = [Infinity, -Infinity]
  for (const point of points) {
    least = Math.min(least, point[axis])
    most = Math.max(most, point[axis])
  }
  return most > least ? { middle: (least + most) / 2, size: most - least } : { middle: 0, size: 2 }
}

const dotOf = (colour: string, radius: number): HTMLCanvasElement => {
  const dot = document.createElement("canvas")
  dot.width = dot.height = Math.ceil(2 * radius)
  const context = dot.getContext("2d")
  if (context === null) return dot
  context.fillStyle = colour
  context.arc(dot.width / 2, dot.width / 2, radius, 0, 2 * Math.PI)
  context.fill()
  return dot
}

const placeOf = ({ offsetX, offsetY }: PointerEvent): CanvasPoint => ({ x: offsetX, y: offsetY })

const distance = (one: CanvasPoint, other: CanvasPoint): number => Math.hypot(one.x - other.x, one.y - other.y)

/** By the number of sides that a line to the right crosses. */
const isInside = ({ x, y }: CanvasPoint, path: ReadonlyArray<CanvasPoint>): boolean => {
  let inside = false
  let last = path.at(-1)!
  for (const corner of path) {
    const crosses = corner.y > y !== last.y > y
    if (crosses && x < ((last.x - corner.x) * (y - corner.y)) / (last.y - corner.y) + corner.x) inside = !inside
    last = corner
  }
  return inside
}
