/** Type of the decision that `prune.mjs` offers to its test. */
export declare const foreignBinaries: (root: string, platform: string, arch: string) => ReadonlyArray<string>
