/**
 * Preloaded into a server under test: it kills itself (SIGKILL) at the moment that `MUNIMENT_TEST_DIES_AT` names, where
 * no call to a node could hold it. `answer`: the answer to a request with a payment is ready, nothing of it is sent.
 * `keep`: what a request with an `Idempotency-Key` did is committed, its answer is not kept and its charge not written.
 */
import { ServerResponse } from "node:http"
import { StatementSync } from "node:sqlite"

const moment = process.env.MUNIMENT_TEST_DIES_AT
const die = () => process.kill(process.pid, "SIGKILL")

const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function (status, ...rest) {
  const { headers } = this.req
  const isPaid = headers["x-payment"] !== undefined || headers["payment-signature"] !== undefined
  if (moment === "answer" && isPaid && status === 200) die()
  return writeHead.call(this, status, ...rest)
}

const { all } = StatementSync.prototype
StatementSync.prototype.all = function (...values) {
  const isKeep = moment === "keep" && this.sourceSQL.startsWith("INSERT INTO idempotency")
  // On a busy machine the charge may be due first.
  if (isKeep || this.sourceSQL.startsWith("UPDATE reservation SET state = 'settled'")) die()
  return all.apply(this, values)
}
