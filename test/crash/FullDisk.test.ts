/** A full disk, for a service with a commit log: the copies find no room while the log has some. */
import { testFullDisk } from "./FullDisk.ts"

testFullDisk({ commitLog: "on", diskMebibytes: 128, roomMebibytes: 6 })
