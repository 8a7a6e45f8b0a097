import pg from 'pg'
import type { Connection } from '../database/connection/connection.ts'
import { lineAt } from '../database/errors/script-failure.ts'
import { OperatorError } from '../lib/errors.ts'
import { type ScriptPart, splitPsqlScript } from '../lib/psql-script.ts'

/**
 * Commands of pg_dump against psql commands in dumped data. They are ignored, because this program has no such
 * commands.
 */
const ignoredCommands: ReadonlySet<string> = new Set(['\\restrict', '\\unrestrict'])

/** Thrown for a failed statement, with its offset in the script. */
export class PartFailed extends Error {
  readonly error: pg.DatabaseError
  /** Offset in UTF-16 units. */
  readonly start: number

  constructor(error: pg.DatabaseError, start: number) {
    super(error.message, { cause: error })
    this.error = error
    this.start = start
  }
}

/**
 * Runs the statements of a script, all or none, as psql does with the output of pg_dump: rows of COPY follow
 * their statement.
 *
 * @throws PartFailed; OperatorError for a psql command that is not supported
 */
export async function runScript(
  connection: Connection,
  script: string,
  types: pg.CustomTypesConfig,
): Promise<pg.QueryResult[]> {
  const all = splitPsqlScript(script)
  const parts = all.filter((part) => part.kind !== 'command' || !ignoredCommands.has(part.name))
  const refused = parts.find((part) => part.kind === 'command')
  if (refused !== undefined) {
    const line = lineAt(script, [...script.slice(0, refused.start)].length + 1)
    throw new OperatorError(
      `line ${line}: ${refused.name} is a command of psql: make the dump without --create, or run the file with psql`,
    )
  }
  const [first, ...others] = parts
  // PostgreSQL itself undoes all of one text.
  if (others.length === 0 && (first === undefined || first.kind === 'sql'))
    return await runPart(connection, first, types)
  await connection.script('begin')
  const results: pg.QueryResult[] = []
  try {
    for (const part of parts) results.push(...(await runPart(connection, part, types)))
    await connection.script('commit')
    return results
  } catch (error) {
    await connection.rollback()
    throw error
  }
}

async function runPart(
  connection: Connection,
  part: ScriptPart | undefined,
  types: pg.CustomTypesConfig,
): Promise<pg.QueryResult[]> {
  if (part === undefined) return []
  try {
    if (part.kind === 'sql') return await connection.script(part.text, types)
    if (part.kind === 'copy') await connection.copyIn(part.command, [Buffer.from(part.rows)])
    return []
  } catch (error) {
    throw error instanceof pg.DatabaseError ? new PartFailed(error, part.start) : error
  }
}
