import { constants, openAsBlob } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { type Static, Type } from '../lib/type.ts'
import {
  type JsonOption,
  loadServerConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import {
  connectToServer,
  expectShape,
  type ServerClient,
  ServerRefused,
  withServerFlags,
} from './server-client.ts'

interface Options extends JsonOption {
  readonly url?: string
  readonly adminToken?: string
  readonly format?: string
  readonly partial?: boolean
  readonly dryRun?: boolean
  readonly upsert?: boolean
  readonly skipExisting?: boolean
}

const contentTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
}

/** Poll interval of the progress. */
const pollMs = 500
/**
 * Maximum wait of an interrupted command for the response with the import's id, which it needs to cancel the
 * import.
 */
const answerMs = 2000

const faults = Type.Optional(Type.Array(Type.Object({ row: Type.Integer(), message: Type.String() })))
const resultSchema = Type.Object({
  processed: Type.Integer(),
  inserted: Type.Integer(),
  updated: Type.Integer(),
  skipped: Type.Integer(),
  failed: Type.Integer(),
  errors: faults,
})
const statusSchema = Type.Object({
  id: Type.String(),
  state: Type.String(),
  rowsRead: Type.Integer(),
  rowsWritten: Type.Integer(),
  result: Type.Union([resultSchema, Type.Null()]),
  error: Type.Union([Type.Object({ message: Type.String(), errors: faults }), Type.Null()]),
})
type ImportStatus = Static<typeof statusSchema>

/** Creates `basalt import`, which imports rows of a file into a collection, through the API of a server. */
export function importCommand(terminal: Terminal): Command {
  const command = new Command('import')
    .description('import the rows of a file into a table: all of them, or none')
    .argument('<table>', 'collection; outside `public` as schema.table')
    .argument('<file>', 'CSV with a header, a JSON array or NDJSON; - for standard input')
    .option('--format <format>', 'csv, json or ndjson; by default from the file name')
    .option('--partial', 'import the valid rows, and list the others')
    .option('--dry-run', 'print the result, and change nothing')
    .option('--upsert', 'update the rows whose primary key exists')
    .option('--skip-existing', 'keep the rows whose primary key exists')
    .option('--json', 'print JSON')
  return withConfigFlags(withServerFlags(command)).action(async (table: string, file: string) => {
    const options = command.opts<Options>()
    const type = contentTypeOf(file, options.format)
    const query = queryOf(options)
    const loaded = loadServerConfig(terminal, command)
    const bytes = await readRows(terminal, file)
    const server = await connectToServer(terminal, loaded, options)
    try {
      const path = `/api/collections/${encodeURIComponent(table)}`
      const interruption = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM']) terminal.on(signal, () => interruption.abort())
      const answer = await server.send('POST', `${path}/import${query}`, {
        content: { type, bytes },
        headers: { prefer: 'respond-async' },
        signal: leaveWithoutAnswer(interruption.signal),
      })
      const begun = expectShape(statusSchema, answer)
      const end = await follow(terminal, server, `${path}/imports/${begun.id}`, begun, interruption.signal)
      report(terminal, options, end)
    } finally {
      await server.close()
    }
  })
}

/** Returns the content type of a format. @throws OperatorError exit code 2 */
function contentTypeOf(file: string, given: string | undefined): string {
  const format =
    given ??
    extname(file)
      .slice(1)
      .replace(/^jsonl$/, 'ndjson')
  const type = Object.hasOwn(contentTypes, format) ? contentTypes[format] : undefined
  if (type !== undefined) return type
  const problem = given === undefined ? `${file}: the name does not say which format it has; ` : ''
  throw new OperatorError(`${problem}--format: expected csv, json or ndjson`, { exitCode: 2 })
}

/** Returns the query string of the options. @throws OperatorError exit code 2 */
function queryOf({ partial, dryRun, upsert, skipExisting }: Options): string {
  if (upsert === true && skipExisting === true) {
    throw new OperatorError('--upsert and --skip-existing exclude each other', { exitCode: 2 })
  }
  const parameters = [
    ...(partial === true ? ['mode=partial'] : []),
    ...(dryRun === true ? ['dryRun=true'] : []),
    ...(upsert === true ? ['on_conflict=update'] : []),
    ...(skipExisting === true ? ['on_conflict=skip'] : []),
  ]
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`
}

/** Opens the rows. A file is read while it is sent. */
async function readRows(terminal: Terminal, file: string): Promise<Blob> {
  if (file === '-') return new Blob([await buffer(terminal.stdin)])
  try {
    const path = resolve(terminal.cwd(), file)
    // A pipe, such as of `<(gunzip -c …)`, has no length; a blob of it would be empty.
    if (!(await stat(path)).isFile()) return new Blob([await readFile(path)])
    await access(path, constants.R_OK)
    return await openAsBlob(path)
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${messageOf(error)}`)
  }
}

/**
 * Returns a signal that aborts the request after an interruption. The server discards a file whose client
 * disconnects before the response.
 */
function leaveWithoutAnswer(interruption: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const leave = () =>
    controller.abort(
      new OperatorError('interrupted before the server answered; the import may have been accepted'),
    )
  interruption.addEventListener('abort', () => setTimeout(leave, answerMs).unref())
  return controller.signal
}

/** Shows the progress on a terminal, and cancels the import when it is interrupted. */
async function follow(
  { stderr }: Terminal,
  server: ServerClient,
  path: string,
  begun: ImportStatus,
  interruption: AbortSignal,
): Promise<ImportStatus> {
  let status = begun
  let isShown = false
  while (status.state === 'running') {
    if (stderr.isTTY === true) {
      stderr.write(`\r${status.rowsWritten} of ${status.rowsRead} rows\u001b[K`)
      isShown = true
    }
    await delay(pollMs, undefined, { signal: interruption }).catch(() => undefined)
    status = interruption.aborted
      ? await cancel(server, path)
      : expectShape(statusSchema, await server.send('GET', path, { isRepeatable: true }))
  }
  if (isShown) stderr.write('\r\u001b[K')
  return status
}

/** Cancels the import, which may have ended at this moment. */
async function cancel(server: ServerClient, path: string): Promise<ImportStatus> {
  const answer = await server.send('DELETE', path).catch((error) => {
    if (error instanceof ServerRefused && error.status === 409) return server.send('GET', path)
    throw error
  })
  return expectShape(statusSchema, answer)
}

/** Prints the result. @throws OperatorError when nothing was imported, or rows were rejected */
function report(terminal: Terminal, { json, dryRun }: Options, status: ImportStatus): void {
  const { state, result, error } = status
  if (json === true) printJson(terminal, status)
  if (state === 'canceled') throw new OperatorError('interrupted; nothing was imported')
  for (const { row, message } of (result ?? error)?.errors ?? []) {
    if (json !== true) terminal.stderr.write(`row ${row}: ${message}\n`)
  }
  if (result === null) throw new OperatorError(error?.message ?? 'the import has failed')
  const { inserted, updated, skipped, failed } = result
  const counts = [`${inserted} inserted`, `${updated} updated`, `${skipped} skipped`, `${failed} refused`]
  if (json !== true)
    print(terminal, `${counts.join(', ')}${dryRun === true ? '; nothing was changed' : ''}\n`)
  if (failed > 0) throw new OperatorError(`${failed} ${failed === 1 ? 'row was' : 'rows were'} refused`)
}
