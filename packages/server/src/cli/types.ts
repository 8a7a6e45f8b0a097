import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import type { Config } from '../configuration.ts'
import { catalogScopeOf } from '../database/catalog/load.ts'
import { type FingerprintRow, fingerprintQuery } from '../database/catalog/queries/fingerprint.ts'
import type { Connection } from '../database/connection/connection.ts'
import { openConnection } from '../database/open.ts'
import { sql } from '../database/sql.ts'
import { inTransaction, type Queryable, queryableOn } from '../database/system-database.ts'
import { generateTypes, type TypedRoute, type TypesFormat } from '../features/data/types/index.ts'
import { readFolder } from '../features/functions/runtime/index.ts'
import { systemClock } from '../lib/clock.ts'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { watchFiles } from '../project/dev/watch.ts'
import { loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { replaceFile } from './replace-file.ts'

interface TypesOptions {
  readonly out?: string
  readonly watch?: boolean
  readonly kysely?: boolean
}

/** Interval of comparisons of the definitions. */
const watchMs = 500

export function typesCommand(terminal: Terminal): Command {
  const command = new Command('types')
    .description('print TypeScript types of the collections, procedures and functions')
    .option('-o, --out <path>', 'write them to a file, if they have changed')
    .option('-w, --watch', 'write them again after every change of a definition or function; needs --out')
    .option('--kysely', 'print the `DB` type of kysely instead')
  return withConfigFlags(command).action(async (options: TypesOptions) => {
    if (options.watch === true && options.out === undefined) {
      throw new OperatorError('types --watch needs --out', { exitCode: 2 })
    }
    const { config } = loadCommandConfig(terminal, command)
    const path = options.out === undefined ? undefined : resolve(terminal.cwd(), options.out)
    const format = options.kysely === true ? 'kysely' : 'client'
    const make = (connection: Connection, routes: readonly TypedRoute[]) =>
      writeTypes(terminal, connection, { config, path, format, routes })
    const read = () => (format === 'client' ? readRoutes(config) : Promise.resolve([]))
    if (options.watch === true) await watch(terminal, config, { read, make })
    else {
      const routes = await read()
      await withConnection(config, (connection) => make(connection, routes))
    }
  })
}

async function withConnection<Result>(
  config: Config,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { connection, close } = await openConnection(config, {
    purpose: 'basalt types',
    log: () => undefined,
  })
  try {
    return await work(connection)
  } finally {
    await close()
  }
}

interface TypesTarget {
  readonly config: Config
  /** Path of the file; undefined for standard output. */
  readonly path: string | undefined
  readonly format: TypesFormat
  readonly routes: readonly TypedRoute[]
}

/**
 * Rejects a missing schema. Types without collections would overwrite those of a mistyped schema name.
 *
 * @throws OperatorError
 */
async function requireSchemas(database: Queryable, schemas: readonly string[]): Promise<void> {
  const missing = await database.many<{ name: string }>(sql`
    select name from unnest(${schemas}::text[]) with ordinality schema (name, ordinal)
    where not exists (select from pg_namespace where nspname = name)
    order by ordinal`)
  const [first] = missing
  if (first !== undefined) throw new OperatorError(`database.schemas: there is no schema "${first.name}"`)
}

/** Returns the routes of the project's functions. @throws OperatorError if they cannot be loaded */
async function readRoutes({ functions: { folder, memory_mb } }: Config): Promise<readonly TypedRoute[]> {
  if (!existsSync(folder)) return []
  try {
    return await readFolder(folder, memory_mb)
  } catch (error) {
    throw new OperatorError(`failed to load the functions in ${folder}: ${messageOf(error)}`)
  }
}

/** Writes the types. @returns the fingerprint of the definitions */
async function writeTypes(
  terminal: Terminal,
  connection: Connection,
  { config, path, format, routes }: TypesTarget,
): Promise<string> {
  await requireSchemas(queryableOn(connection), config.database.schemas)
  const { text, fingerprint } = await inTransaction(connection, (transaction) =>
    generateTypes(transaction, catalogScopeOf(config), format, systemClock.now(), routes),
  )
  if (path === undefined) print(terminal, text)
  else if (await replaceFile(path, text)) print(terminal, `wrote ${path}\n`)
  return fingerprint
}

interface TypesWork {
  /** Returns the functions. @throws OperatorError if they cannot be loaded */
  readonly read: () => Promise<readonly TypedRoute[]>
  /** Writes the types. @returns the fingerprint of the definitions */
  readonly make: (connection: Connection, routes: readonly TypedRoute[]) => Promise<string>
}

/** Watches until it is interrupted. An unavailable database is retried; at startup it is a failure. */
async function watch(terminal: Terminal, config: Config, { read, make }: TypesWork): Promise<void> {
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) terminal.on(signal, () => interrupted.abort())
  let written: string | undefined
  let haveFunctionsChanged = false
  const stop = watchFiles({ files: [], folders: [config.functions.folder] }, async () => {
    haveFunctionsChanged = true
  })
  try {
    // The first call of the listener has set it to the state that is read now.
    haveFunctionsChanged = false
    let routes = await read()
    while (!interrupted.signal.aborted) {
      try {
        await withConnection(config, async (connection) => {
          while (!interrupted.signal.aborted) {
            const hasNewRoutes = haveFunctionsChanged
            haveFunctionsChanged = false
            if (hasNewRoutes) routes = await read().catch((error) => reportTo(terminal, error, routes))
            const { fingerprint } = await queryableOn(connection).one<
              FingerprintRow & Record<string, unknown>
            >(fingerprintQuery(config.database.schemas, false))
            if (hasNewRoutes || fingerprint !== written) written = await make(connection, routes)
            await pause(interrupted.signal)
          }
        })
      } catch (error) {
        if (written === undefined) throw error
        // The types may lack functions that have been read.
        haveFunctionsChanged = true
        terminal.stderr.write(`basalt: failed to read the definitions: ${messageOf(error)}; retrying\n`)
        await pause(interrupted.signal)
      }
    }
  } finally {
    await stop()
  }
}

/** Reports functions that cannot be loaded, and returns the previous ones. */
function reportTo(
  { stderr }: Terminal,
  error: unknown,
  previous: readonly TypedRoute[],
): readonly TypedRoute[] {
  stderr.write(`basalt: ${messageOf(error)}; the types have the previous functions\n`)
  return previous
}

async function pause(signal: AbortSignal): Promise<void> {
  await delay(watchMs, undefined, { signal }).catch(() => undefined)
}
