import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * Simulates a distance between a server and its Postgres. Bytes of a TCP port reach the socket, and their responses
 * return, each half of the delay later. Prints the port.
 *
 * argv: socket directory, milliseconds of a round trip
 */
const [, , directory = '', delay = ''] = process.argv

function forward(from: Socket, to: Socket): void {
  from.on('data', (chunk) => setTimeout(() => to.write(chunk), Number(delay) / 2))
  from.on('close', () => setTimeout(() => to.destroy(), Number(delay) / 2))
  from.on('error', () => to.destroy())
}

const listener = createServer({ noDelay: true }, (client) => {
  const postgres = connect(join(directory, '.s.PGSQL.5432'))
  forward(client, postgres)
  forward(postgres, client)
})
listener.listen(0, '127.0.0.1', () => {
  const address = listener.address()
  if (typeof address === 'object' && address !== null) process.stdout.write(`${address.port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
