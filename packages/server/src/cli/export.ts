import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command } from 'commander'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'
import { connectToServer, withServerFlags } from './server-client.ts'

interface Options {
  readonly url?: string
  readonly adminToken?: string
  readonly format?: string
  readonly output?: string
  readonly filter?: string
  readonly sort?: string
  readonly fields?: string
}

const formats = ['csv', 'json', 'ndjson']

/** `basalt export`: rows of a collection as a file, through the API of a server. */
export function exportCommand(terminal: Terminal): Command {
  const command = new Command('export')
    .description('write the rows of a table to a file or to standard output')
    .argument('<table>', 'the collection; outside `public` as schema.table')
    .option('--format <format>', 'csv, json or ndjson', 'csv')
    .option('-o, --output <file>', 'where to; it must not exist')
    .option('--filter <expression>', "which rows: unit_price > 0.99 AND name ~ 'The %'")
    .option('--sort <columns>', 'in which order: -milliseconds,name')
    .option('--fields <columns>', 'which columns')
  return withConfigFlags(withServerFlags(command)).action(async (table: string) => {
    const { format = '', output, filter, sort, fields, ...options } = command.opts<Options>()
    if (!formats.includes(format)) {
      throw new OperatorError('--format: expected csv, json or ndjson', { exitCode: 2 })
    }
    const given = Object.entries({ filter, sort, fields }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    )
    const server = await connectToServer(terminal, loadCommandConfig(terminal, command), options)
    try {
      const query = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
      const response = await server.open(
        `/api/collections/${encodeURIComponent(table)}/export.${format}${query}`,
      )
      const target =
        output === undefined ? undefined : createWriteStream(resolve(terminal.cwd(), output), { flags: 'wx' })
      await write(response, target ?? terminal.stdout, target !== undefined)
    } finally {
      await server.close()
    }
  })
}

/** @throws OperatorError when the rows end before their end, or cannot be written */
async function write({ body }: Response, target: Writable, isFile: boolean): Promise<void> {
  if (body === null) return
  try {
    await pipeline(Readable.fromWeb(body), target, { end: isFile })
  } catch (error) {
    throw new OperatorError(`the export is not complete: ${messageOf(error)}`)
  }
}
