import { Connection } from '../packages/server/src/database/connection.ts'
import type { Call } from '../packages/server/src/database/message.ts'
import { cases } from './cases.ts'
import { createPlanner } from './statements.ts'

/**
 * Sends the statements of one case straight to Postgres by a bare client, and prints the rate as JSON: what the
 * machine could do if everything around the statements were free.
 *
 * argv: socket directory, case, connections, seconds
 */
const [, , directory = '', name = '', connections = '', seconds = ''] = process.argv
const benchCase = cases.find((candidate) => candidate.name === name)
if (benchCase === undefined) throw new Error(`no case ${name}`)

const target = {
  socket: { directory, port: 5432, user: 'postgres', database: 'basalt' },
  applicationName: 'bench',
  settings: {},
  prepare: true,
  connectTimeoutMs: 3000,
}
const open = await Promise.all(Array.from({ length: Number(connections) }, () => Connection.open(target)))
const plan = await createPlanner(open[0] as Connection)
const messages: (readonly Call[])[] = []
for (let n = 0; n < 1000; n += 1) messages.push(await plan(benchCase.request(n)))
let sent = 0
let answered = 0
let isOver = false

for (const connection of open) void keepBusy(connection)

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
