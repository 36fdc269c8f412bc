/** Blocks of code with a button that copies their text; the handbook's pages load this file for themselves. */

/** Where the browser lets a page copy: over TLS, or from this machine. */
export const withCopyButton = (block) => {
  if (navigator.clipboard === undefined) return block
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent)
    button.textContent = "Copied"
    setTimeout(() => (button.textContent = "Copy"), 2_000)
  })
  const framed = document.createElement("div")
  framed.className = "code"
  framed.append(button, block)
  return framed
}

for (const block of document.querySelectorAll("main.handbook pre")) {
  const place = document.createComment("")
  block.replaceWith(place)
  place.replaceWith(withCopyButton(block))
}
