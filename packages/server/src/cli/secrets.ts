import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { OperatorError } from '../lib/errors.ts'
import { Type } from '../lib/type.ts'
import { createSubcommand, type Terminal } from './context.ts'
import { expectShape } from './server-client.ts'
import { type Result, type ServerOptions, type ServerWork, withServer } from './server-command.ts'
import { formatTable } from './table.ts'

const path = '/api/admin/secrets'
const secretSchema = Type.Object({ name: Type.String(), updatedAt: Type.String() })
const listSchema = Type.Object({ items: Type.Array(secretSchema) })

type Work = ServerWork<ServerOptions>

/** Creates `basalt secrets`, which manages the secrets of the operator's own code, through the API of a server. */
export function secretsCommands(terminal: Terminal): Command {
  const subcommand = (name: string, description: string) =>
    createSubcommand(terminal, name).description(description)
  const answer = (command: Command, work: (parts: Work) => Promise<Result>) =>
    withServer(terminal, command, work)
  return new Command('secrets')
    .description('manage secrets of functions and schedules; no command shows a value')
    .addCommand(
      answer(
        subcommand('set', 'store a value from standard input, or one that you type').argument('<name>'),
        (parts) => set(terminal, parts),
      ),
    )
    .addCommand(answer(subcommand('list', 'list names and times'), list))
    .addCommand(answer(subcommand('unset', 'remove a secret').argument('<name>'), unset))
}

async function set(terminal: Terminal, { server, operands: [name = ''] }: Work): Promise<Result> {
  const body = { value: await readValue(terminal, name) }
  const secret = expectShape(secretSchema, await server.send('PUT', pathOf(name), { body }))
  return { json: secret, text: `${secret.name} is set\n` }
}

async function list({ server }: Work): Promise<Result> {
  const { items } = expectShape(listSchema, await server.send('GET', path))
  const rows = items.map(({ name, updatedAt }) => [name, updatedAt])
  return { json: items, text: formatTable(['name', 'updated'], rows) }
}

async function unset({ server, operands: [name = ''] }: Work): Promise<Result> {
  await server.send('DELETE', pathOf(name))
  return { json: { deleted: name }, text: '' }
}

function pathOf(name: string): string {
  return `${path}/${encodeURIComponent(name)}`
}

/** Reads a value without showing it. A final line break is not part of it. */
async function readValue({ stdin, stderr }: Terminal, name: string): Promise<string> {
  if (stdin.isTTY !== true) return (await text(stdin)).replace(/\r?\n$/, '')
  stderr.write(`${name}: `)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: silent, terminal: true })
  try {
    const interrupted = once(lines, 'SIGINT').then(() => {
      throw new OperatorError('interrupted; nothing has changed')
    })
    return await Promise.race([lines.question(''), interrupted])
  } finally {
    lines.close()
    stderr.write('\n')
  }
}
