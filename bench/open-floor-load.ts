import { openFloor } from './floor.ts'
import { runOpenLoop } from './open-loop.ts'

/**
 * Sends the statements of one case directly to Postgres at a fixed rate and prints the latencies as JSON: the tail that
 * the machine has without the server.
 *
 * argv: socket directory or URL, case, connections, seconds, rate
 */
const [, , at = '', name = '', count = '', seconds = '', rate = ''] = process.argv
const { connections, messages } = await openFloor(at, name, Number(count))
const latencies = await runOpenLoop({
  rate: Number(rate),
  seconds: Number(seconds),
  connections: connections.map(
    (connection) => (index: number, receive: () => void) =>
      void connection.send(messages[index % messages.length] ?? []).then(receive),
  ),
})
process.stdout.write(`${JSON.stringify(latencies)}\n`)
process.exit(0)
