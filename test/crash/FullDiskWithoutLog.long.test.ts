/** A full disk, for a service whose commits go to the files of the agents. */
import { testFullDisk } from "./FullDisk.ts"

testFullDisk({ commitLog: "off", diskMebibytes: 48, roomMebibytes: 6 })
