import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Command } from 'commander'
import pg from 'pg'
import { requiresRls } from '../config/development.ts'
import type { Connection } from '../database/connection/connection.ts'
import { findRemedyBy } from '../database/errors/denials.ts'
import { lineAt } from '../database/errors/script-failure.ts'
import { jsonReader } from '../database/json-values.ts'
import { openConnection } from '../database/open.ts'
import { shareLockOfPreparation } from '../database/preparation/preparation.ts'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { decodeText } from '../lib/text-file.ts'
import { loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { PartFailed, runScript } from './run-script.ts'
import { formatTable, showControls } from './table.ts'
import { findOpenedSchemas, watchUnguarded } from './unguarded.ts'

interface SqlOptions {
  readonly command?: string
  readonly file?: string
  readonly json?: boolean
}

export function sqlCommand(terminal: Terminal): Command {
  const command = new Command('sql')
    .description('run SQL in the database, with or without a running server')
    .argument('[statement]', 'the statement; without it and without --file, standard input is read')
    .option('-c, --command <statement>', 'the statement, as psql accepts it; may be repeated', joinStatements)
    .option('-f, --file <path>', 'run the statements of a file, all or none')
    .option('--json', 'print the rows of the last statement as a JSON array of objects')
  return withConfigFlags(command).action(async (statement: string | undefined, options: SqlOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const script = await readScript(terminal, statement, options)
    if (script.trim() === '') {
      throw new OperatorError('sql needs a statement, --file or standard input', { exitCode: 2 })
    }
    const { connection, close } = await openConnection(config, {
      purpose: 'basalt sql',
      log: () => undefined,
    })
    try {
      if (config.database.url === '') await holdFirstStart(connection)
      connection.onNotice((message) => terminal.stderr.write(`notice: ${showControls(message)}\n`))
      const findOpened = config.auth.enabled
        ? await watchUnguarded(connection, config.database.schemas, requiresRls(config))
        : async () => undefined
      const results = await runScript(connection, script, options.json === true ? jsonTypes : textTypes)
      print(terminal, options.json === true ? formatJson(results.at(-1)) : results.map(formatResult).join(''))
      // Our own queries must not depend on the settings of the script.
      await connection.script('reset session authorization; reset role; reset all')
      const opened = await findOpened()
      if (opened !== undefined) terminal.stderr.write(`warning: ${showControls(opened)}\n`)
    } catch (error) {
      const part = error instanceof PartFailed ? error : undefined
      const cause = part?.error ?? error
      if (!(cause instanceof pg.DatabaseError)) throw error
      const position = { script, start: part?.start ?? 0 }
      throw new OperatorError(
        describeFailure(cause, position, options, await findRemedyBy(connection, cause)),
      )
    } finally {
      await close()
    }
  })
}

/**
 * Delays the first start until the script has ended. That start opens the tables that it sees to callers, and
 * later ones on creation, but not those of a transaction in between. The lock ends with the session, which no
 * pooler shares.
 */
async function holdFirstStart(connection: Connection): Promise<void> {
  const opened = await findOpenedSchemas(connection)
  if (opened.length === 0) await connection.query(shareLockOfPreparation)
}

function joinStatements(statement: string, before: string | undefined): string {
  return before === undefined ? statement : `${before}\n;\n${statement}`
}

async function readScript(
  terminal: Terminal,
  operand: string | undefined,
  { command, file }: SqlOptions,
): Promise<string> {
  if ([operand, command, file].filter((given) => given !== undefined).length > 1) {
    throw new OperatorError('sql takes one statement, --command or --file', { exitCode: 2 })
  }
  const statement = operand ?? command
  if (statement !== undefined) return statement
  if (file === undefined) {
    return terminal.stdin.isTTY ? '' : decodeText(await buffer(terminal.stdin), 'standard input')
  }
  return decodeText(readBytes(resolve(terminal.cwd(), file), file), file)
}

function readBytes(path: string, shown: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new OperatorError(`cannot read ${shown}: ${messageOf(error)}`, { exitCode: 2 })
  }
}

function formatResult({ fields, rows, command, rowCount }: pg.QueryResult): string {
  if (fields.length === 0)
    return command === null ? '' : `${command}${rowCount === null ? '' : ` ${rowCount}`}\n`
  const names = fields.map(({ name }) => name)
  // Rows are arrays of texts, because two columns may share a name.
  return `${formatTable(names, rows as (string | null)[][])}(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n`
}

function formatJson(result: pg.QueryResult | undefined): string {
  const { fields = [], rows = [] } = result ?? {}
  const objects = (rows as unknown[][]).map((row) =>
    Object.fromEntries(fields.map(({ name }, index) => [name, row[index]])),
  )
  return `${JSON.stringify(objects, undefined, 2)}\n`
}

/** Parsers that keep every text as Postgres prints it. */
const textTypes: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text }

const jsonTypes: pg.CustomTypesConfig = { getTypeParser: jsonReader }

/** Formats a failure: `chinook.sql:31: relation "album" already exists` */
function describeFailure(
  error: pg.DatabaseError,
  { script, start }: { readonly script: string; readonly start: number },
  { file }: SqlOptions,
  remedy: string | undefined,
): string {
  const before = Array.from(script.slice(0, start)).length
  // Rows of COPY have no position, and follow their statement.
  const isPlaced = error.position !== undefined || before > 0
  const line = isPlaced ? `:${lineAt(script, before + Number(error.position ?? 1))}` : ''
  const source = file === undefined ? '' : `${file}${line}: `
  const isUnprepared = error.code === '3F000' && error.message.includes('"basalt"')
  const unprepared = isUnprepared ? 'the first start of the server makes it' : undefined
  const copied = /^COPY [^:]*/.exec(error.where ?? '')?.[0]
  const hints = [copied, error.detail, error.hint, unprepared, remedy].filter((text) => text !== undefined)
  return [source + error.message, ...hints].join('; ').replace(/\s*\n\s*/g, ' ')
}
