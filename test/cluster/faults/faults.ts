/** All faults of the programme, in the order of its rounds. */
import { databaseFaults } from "./databaseFaults.ts"
import type { Fault } from "./Fault.ts"
import { processFaults } from "./processFaults.ts"
import { promotedStandby } from "./promotedStandby.ts"
import { storeFaults } from "./storeFaults.ts"

export const faults: ReadonlyArray<Fault> = [...processFaults, ...databaseFaults, promotedStandby, ...storeFaults]
