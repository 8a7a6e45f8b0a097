import type { Connection } from '../packages/server/src/database/connection/connection.ts'
import { openFloor } from './floor.ts'

/**
 * Sends the statements of one case directly to Postgres with a bare client, and prints the rate as JSON. It is the
 * maximum of the machine if everything around the statements were free.
 *
 * argv: socket directory or URL, case, connections, seconds
 */
const [, , at = '', name = '', count = '', seconds = ''] = process.argv
const { connections, messages } = await openFloor(at, name, Number(count))
let sent = 0
let answered = 0
let isOver = false

for (const connection of connections) void keepBusy(connection)

const startedAt = performance.now()
setTimeout(() => {
  isOver = true
  const rate = (answered / (performance.now() - startedAt)) * 1000
  process.stdout.write(`${JSON.stringify({ rate })}\n`)
  process.exit(0)
}, Number(seconds) * 1000)

async function keepBusy(connection: Connection): Promise<void> {
  while (!isOver) {
    await connection.send(messages[sent++ % messages.length] ?? [])
    answered += 1
  }
}
