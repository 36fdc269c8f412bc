/**
 * The unread conversations over HTTP, by a real server: what is found, answered and extracted of them. Prints figures
 * without any text of the set; the report with the texts goes to a file. `--help` names the options.
 */
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { answerHelp } from "../Usage.ts"
import { openService } from "./Service.ts"
import { playUnread } from "./UnreadPlay.ts"
import { figuresOf, reportOf } from "./UnreadReport.ts"
import { isUnreadSetName, newestUnreadSet, readUnreadSet, unreadSetNames } from "./UnreadSet.ts"

const usage = `node bench/answers/unread.ts [--set ${unreadSetNames.join("|")}] [--report FILE] [--url URL --key KEY]

Sends each conversation of a set through POST /v1/memories in windows of 20 messages, asks its
questions by search and in mode \`answer\`, and prints figures. Whoever works on rules, ranking or answers reads the
figures only.

  --set      the folder of the set in bench/answers; default: unread3, the newest
  --report   file for questions, hits, answers and extracted memories, to be judged by reading; never committed
  --url      a running service instead of one started here; needs --key
  --key      the key to call it with`

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      set: { type: "string", default: newestUnreadSet },
      report: { type: "string" },
      url: { type: "string" },
      key: { type: "string" }
    }
  })
  if (!isUnreadSetName(values.set)) throw new Error(`usage: ${usage}`)
  const service = await openService(values.url, values.key)
  try {
    const played = await playUnread(service, readUnreadSet(values.set))
    console.log(figuresOf(played))
    if (values.report !== undefined) writeFileSync(values.report, reportOf(played))
  } finally {
    await service.stop()
  }
}

await main()
