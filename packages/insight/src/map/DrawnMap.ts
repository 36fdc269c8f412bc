/** A drawn map: Markdown, clusters with their topics, and a place in the plane for every memory. */

export interface MapCluster {
  /** A few distinctive terms as a heading. */
  readonly topic: string
  readonly terms: ReadonlyArray<string>
  readonly count: number
  readonly kinds: ReadonlyArray<string>
  readonly memoryIds: ReadonlyArray<string>
  readonly position: MapPosition
}

/** Place in the drawing, both -1..1. */
export interface MapPosition {
  readonly x: number
  readonly y: number
}

export interface MapPoint extends MapPosition {
  readonly id: string
  /** Index into `clusters`; null: it belongs to none. */
  readonly cluster: number | null
}

export interface DrawnMap {
  /** Markdown: a heading per topic, a bullet per memory. */
  readonly memoryMap: string
  readonly clusters: ReadonlyArray<MapCluster>
  readonly points: ReadonlyArray<MapPoint>
}
