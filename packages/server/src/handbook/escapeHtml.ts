/**
 * Text as HTML that shows it, also within an attribute in double or single quotes. Apart from the rendering of Markdown,
 * so that a start does not load its library.
 */
const entities = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"]
])

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities.get(character)!)
