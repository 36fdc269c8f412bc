/** Browser and system in words, by what a browser says of itself (`User-Agent`); a program by its own name. */

/** Browsers name others that they are like: the first that fits is it. */
const browsers: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["Edge", /\bEdg(?:A|iOS)?\/(\d+)/],
  ["Opera", /\bOPR\/(\d+)/],
  ["Samsung Internet", /\bSamsungBrowser\/(\d+)/],
  ["Vivaldi", /\bVivaldi\/(\d+)/],
  ["Firefox", /\b(?:Firefox|FxiOS)\/(\d+)/],
  ["Chrome without a window", /\bHeadlessChrome\/(\d+)/],
  ["Chrome", /\b(?:Chrome|CriOS)\/(\d+)/],
  ["Safari", /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//]
]

const systems: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["Linux", /\bLinux\b|\bX11\b/]
]

export const browserName = (userAgent: string): string => {
  const [browser, version] = browsers.flatMap(([name, pattern]) => {
    const found = pattern.exec(userAgent)?.[1]
    return found === undefined ? [] : [name, found]
  })
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser === undefined) {
    const program = /^[\w.-]+(?:\/[\w.-]+)?/.exec(userAgent)?.[0]
    return program === undefined || program.startsWith("Mozilla/") ? "an unknown browser" : program.replace("/", " ")
  }
  return `${browser} ${version}${system === undefined ? "" : ` on ${system}`}`
}
