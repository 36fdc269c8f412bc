/**
 * Set-up of the unit tests: no server listens. Node's permission model, under which they run, refuses the rest: files
 * written, processes, threads. A test that needs one of these belongs in `test/component`.
 */
import { Server } from "node:net"

Server.prototype.listen = () => {
  throw new Error("a unit test starts no server; a test that needs one belongs in test/component")
}
