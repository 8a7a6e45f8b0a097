import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { OperatorError } from '../lib/errors.ts'
import { Type } from '../lib/type.ts'
import {
  createSubcommand,
  loadServerConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { connectToServer, expectShape, type ServerClient, withServerFlags } from './server-client.ts'
import { formatTable } from './table.ts'

const path = '/api/admin/secrets'
const secretSchema = Type.Object({ name: Type.String(), updatedAt: Type.String() })
const listSchema = Type.Object({ items: Type.Array(secretSchema) })

interface Result {
  readonly json: unknown
  readonly text: string
}

/** Creates `basalt secrets`, which manages the secrets of the operator's own code, through the API of a server. */
export function secretsCommands(terminal: Terminal): Command {
  const subcommand = (name: string, description: string) =>
    createSubcommand(terminal, name).description(description)
  return new Command('secrets')
    .description('manage secrets of functions and schedules; no command shows a value')
    .addCommand(
      printResult(
        terminal,
        subcommand('set', 'store a value from standard input, or one that you type').argument('<name>'),
        set,
      ),
    )
    .addCommand(printResult(terminal, subcommand('list', 'list names and times'), list))
    .addCommand(printResult(terminal, subcommand('unset', 'remove a secret').argument('<name>'), unset))
}

async function set(server: ServerClient, name: string, terminal: Terminal): Promise<Result> {
  const body = { value: await readValue(terminal, name) }
  const secret = expectShape(secretSchema, await server.send('PUT', pathOf(name), { body }))
  return { json: secret, text: `${secret.name} is set\n` }
}

async function list(server: ServerClient): Promise<Result> {
  const { items } = expectShape(listSchema, await server.send('GET', path))
  const rows = items.map(({ name, updatedAt }) => [name, updatedAt])
  return { json: items, text: formatTable(['name', 'updated'], rows) }
}

async function unset(server: ServerClient, name: string): Promise<Result> {
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

/** Makes a command send requests to a server, and print the result. */
function printResult(
  terminal: Terminal,
  command: Command,
  work: (server: ServerClient, name: string, terminal: Terminal) => Promise<Result>,
): Command {
  command.option('--json', 'print JSON')
  return withConfigFlags(withServerFlags(command)).action(async () => {
    const options = command.opts<{ url?: string; adminToken?: string; json?: boolean }>()
    const server = await connectToServer(terminal, loadServerConfig(terminal, command), options)
    try {
      const { json, text } = await work(server, command.args[0] ?? '', terminal)
      if (options.json === true) printJson(terminal, json)
      else print(terminal, text)
    } finally {
      await server.close()
    }
  })
}
