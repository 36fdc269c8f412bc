/**
 * Preloaded into a node under test: its connections to the ports named by MUNIMENT_TEST_LINKS, a JSON object, go to the
 * ports that stand there instead.
 */
import { Socket } from "node:net"

const links = new Map(Object.entries(JSON.parse(process.env.MUNIMENT_TEST_LINKS ?? "{}")))
const connect = Socket.prototype.connect

Socket.prototype.connect = function (...parameters) {
  // `net.connect` gives what it has made of its parameters as one array.
  const given = Array.isArray(parameters[0]) ? parameters[0] : parameters
  const port = links.get(String(given[0]?.port))
  if (port !== undefined) given[0] = { ...given[0], port }
  return Reflect.apply(connect, this, parameters)
}
