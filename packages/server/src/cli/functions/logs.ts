import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { Type } from '../../lib/type.ts'
import { createSubcommand, loadServerConfig, print, type Terminal, withConfigFlags } from '../context.ts'
import { formatEntry } from '../logs.ts'
import { connectToServer, expectShape, type ServerClient, withServerFlags } from '../server-client.ts'
import type { ServerOptions } from '../server-command.ts'

interface LogsOptions extends ServerOptions {
  readonly follow?: boolean
  readonly function?: string
  readonly limit?: string
}

const path = '/api/admin/logs'
/** Text that every entry of functions has in its attributes. */
const query = new URLSearchParams({ q: 'function' })

const entrySchema = Type.Object({
  time: Type.String(),
  level: Type.String(),
  message: Type.String(),
  attrs: Type.Object({}, { additionalProperties: true }),
  node: Type.String(),
  requestId: Type.Union([Type.String(), Type.Null()]),
})
const pageSchema = Type.Object({ entries: Type.Array(entrySchema), nextCursor: Type.Optional(Type.String()) })

/** Creates `basalt functions logs`, which prints what functions have logged, and their errors. */
export function functionLogsCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'logs')
    .description('print the log and the errors of the functions on all nodes, the oldest entry first')
    .option('-f, --follow', 'continue with new entries')
    .option('--function <name>', 'only entries of one function')
    .option(
      '-n, --limit <number>',
      'number of entries of the log to search, the newest ones, at most 1000',
      '100',
    )
    .option('--json', 'print a JSON object per line')
  return withConfigFlags(withServerFlags(command)).action(async () => {
    const options = command.opts<LogsOptions>()
    const server = await connectToServer(terminal, loadServerConfig(terminal, command), options)
    try {
      await printLogs(terminal, server, options)
    } finally {
      await server.close()
    }
  })
}

async function printLogs(
  terminal: Terminal,
  server: ServerClient,
  { follow, function: name, limit = '100', json = false }: LogsOptions,
): Promise<void> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) terminal.on(signal, () => stopping.abort())
  terminal.stdout.on('error', () => stopping.abort())
  // The stream begins before the list is read, so that no entry is missed in between.
  const tail = follow === true ? await server.open(`${path}/tail?${query}`, stopping.signal) : undefined
  const page = expectShape(pageSchema, await server.send('GET', `${path}?${query}&limit=${Number(limit)}`))
  const listed = new Set(page.entries.map((entry) => JSON.stringify(entry)))
  const show = (text: string) => {
    const entry = expectShape(entrySchema, JSON.parse(text))
    if (isOfFunction(entry.attrs, name)) print(terminal, formatEntry(entry, json))
  }
  for (const text of [...listed].reverse()) show(text)
  if (tail === undefined) return
  let event = ''
  try {
    for await (const line of createInterface({ input: tail })) {
      if (line.startsWith('event: ')) event = line.slice('event: '.length)
      if (!line.startsWith('data: ') || event !== 'log') continue
      const text = line.slice('data: '.length)
      if (!listed.has(text)) show(text)
    }
  } catch (error) {
    if (!stopping.signal.aborted) throw error
  }
}

/** Attributes by which the entries of functions are found. */
interface LineAttributes {
  readonly source?: unknown
  readonly function?: unknown
  readonly err?: { readonly type?: unknown; readonly function?: unknown }
}

/** Returns true for a line that functions have logged, and for the error of one. */
function isOfFunction(attrs: object, name: string | undefined): boolean {
  const { source, function: own, err } = attrs as LineAttributes
  if (source !== 'functions' && err?.type !== 'FunctionFailure') return false
  return name === undefined || own === name || err?.function === name
}
