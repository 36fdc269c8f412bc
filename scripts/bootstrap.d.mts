/** Types of the decisions that `bootstrap.mjs` offers to its tests. */
export declare const installHash: (root: string) => string
export declare const neededInstall: (
  root: string,
  hash: string,
  wanted: "service" | "all"
) => "service" | "all" | undefined
export declare const headersDirectory: (place: {
  readonly configured: string | undefined
  readonly execPath: string
  readonly root: string
  readonly platform: string
  readonly arch: string
}) => string | undefined
export declare const isNodeRecent: (version: string) => boolean
export declare const withoutNoise: (output: string) => Array<string>
