/** Light or dark: as the system says, unless this browser chose. */
import { signal } from "@preact/signals"

const key = "muniment.theme"
const chosen = localStorage.getItem(key)
const system = matchMedia("(prefers-color-scheme: dark)")

export const theme = signal<"light" | "dark">(
  chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light"
)

export const applyTheme = (): void => {
  document.documentElement.dataset["theme"] = theme.value
}

system.addEventListener("change", ({ matches }) => {
  if (localStorage.getItem(key) !== null) return
  theme.value = matches ? "dark" : "light"
  applyTheme()
})

export const switchTheme = (): void => {
  theme.value = theme.value === "dark" ? "light" : "dark"
  localStorage.setItem(key, theme.value)
  applyTheme()
}
