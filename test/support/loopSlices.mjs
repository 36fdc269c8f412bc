/**
 * Preloaded into a server under test: from one SIGUSR2 to the next it measures the longest slice of the event loop by
 * the processor time of its thread, and prints it in milliseconds. Between two ticks of a timer of one millisecond lies
 * one long slice, or short ones of a millisecond together. Beside it stands what fixed work takes on the same thread
 * just afterwards: where the processor is shared, processor time grows too.
 */
const rows = Array.from({ length: 2_000 }, (_, at) => ({
  id: `row ${at}`,
  words: [`one ${at}`, "two"],
  weight: at / 7
}))

/** Milliseconds of forty rounds: the clock of a thread may go in steps of four. */
const fixedWork = () => {
  const from = now()
  for (let round = 0; round < 40; round++) JSON.parse(JSON.stringify(rows))
  return now() - from
}

let longest = 0
let before = 0
let timer

const now = () => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

const tick = () => {
  const at = now()
  longest = Math.max(longest, at - before)
  before = at
}

process.on("SIGUSR2", () => {
  if (timer === undefined) {
    longest = 0
    before = now()
    timer = setInterval(tick, 1)
    console.log("slices: measuring")
  } else {
    clearInterval(timer)
    timer = undefined
    console.log(`slices: longest ${longest} ms, fixed work ${fixedWork()} ms`)
  }
})
