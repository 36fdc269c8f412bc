/** Words of a list, as it stands in the source: any white space between them. */
export const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""))
