import { open, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Command } from 'commander'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { loadServerConfig, printAll, type Terminal, withConfigFlags } from './context.ts'
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

/** Creates `basalt export`, which writes rows of a collection to a file, through the API of a server. */
export function exportCommand(terminal: Terminal): Command {
  const command = new Command('export')
    .description('write the rows of a table to a file or to standard output')
    .argument('<table>', 'collection; outside `public` as schema.table')
    .option('--format <format>', 'csv, json or ndjson', 'csv')
    .option('-o, --output <file>', 'where to; it must not exist')
    .option('--filter <expression>', "filter of the rows: unit_price > 0.99 AND name ~ 'The %'")
    .option('--sort <columns>', 'order of the rows: -milliseconds,name')
    .option('--fields <columns>', 'which columns')
  return withConfigFlags(withServerFlags(command)).action(async (table: string) => {
    const { format = '', output, filter, sort, fields, ...options } = command.opts<Options>()
    if (!formats.includes(format)) {
      throw new OperatorError('--format: expected csv, json or ndjson', { exitCode: 2 })
    }
    const given = Object.entries({ filter, sort, fields }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    )
    const server = await connectToServer(terminal, loadServerConfig(terminal, command), options)
    const interruption = new AbortController()
    const reason = new OperatorError('interrupted; the export is not complete')
    for (const signal of ['SIGINT', 'SIGTERM']) terminal.on(signal, () => interruption.abort(reason))
    try {
      const query = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
      const path = `/api/collections/${encodeURIComponent(table)}/export.${format}${query}`
      const rows = await server.open(path, interruption.signal)
      if (output !== undefined) await writeFile(rows, resolve(terminal.cwd(), output))
      else if (!(await printRows(rows, terminal))) return
      requireComplete(rows)
    } catch (error) {
      interruption.signal.throwIfAborted()
      throw error
    } finally {
      await server.close()
    }
  })
}

/** Prints the rows. @throws OperatorError when they end early @returns the result of {@link printAll} */
function printRows(rows: IncomingMessage, terminal: Terminal): Promise<boolean> {
  return printAll(terminal, rows).catch((error) => {
    throw incomplete(error)
  })
}

/**
 * Writes the rows to a new file, or leaves no file.
 *
 * @throws OperatorError when they end early, or cannot be written
 */
async function writeFile(rows: IncomingMessage, path: string): Promise<void> {
  const file = await open(path, 'wx').catch((error) => {
    rows.destroy()
    throw new OperatorError(`cannot write ${path}: ${messageOf(error)}`)
  })
  try {
    await pipeline(rows, file.createWriteStream())
  } catch (error) {
    await rm(path, { force: true })
    throw incomplete(error)
  }
}

/** Checks the trailer, which a proxy may drop. @throws OperatorError */
function requireComplete({ trailers }: IncomingMessage): void {
  const isTruncated = trailers['x-export-truncated']
  if (isTruncated === 'false') return
  throw new OperatorError(
    isTruncated === 'true'
      ? 'the export is not complete: the table has more rows than api.export_max_rows'
      : 'the server did not say whether the export is complete: a proxy may have dropped its trailers',
  )
}

function incomplete(error: unknown): OperatorError {
  return new OperatorError(`the export is not complete: ${messageOf(error)}`)
}
