import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { listApplied } from './adopt.ts'
import { readUndo } from './compile.ts'

/** Migration that undoes adoptions. */
export interface Undoing {
  /** Names of the adoptions, the newest first. */
  readonly adoptions: readonly string[]
  readonly content: string
  /** Tables that keep row-level security, because they have other policies. */
  readonly guarded: readonly string[]
}

/** Prefix of the lines with the names of undone migrations. */
const undoesPrefix = '-- undoes '

/** Name of a table, with its schema, as the migrations quote it. */
const tableName = /"(?:[^"]|"")+"\."(?:[^"]|"")+"/

/** Writes the migration that undoes all adoptions in force; undefined without one. */
export async function writeUndo(transaction: Queryable): Promise<Undoing | undefined> {
  const migrations = await listApplied(transaction)
  const undone = new Set(
    migrations.flatMap(({ content }) =>
      content
        .split('\n')
        .flatMap((line) => (line.startsWith(undoesPrefix) ? [line.slice(undoesPrefix.length)] : [])),
    ),
  )
  const adoptions = migrations
    .filter(({ name, content }) => !undone.has(name) && readUndo(content).length > 0)
    .toReversed()
  if (adoptions.length === 0) return undefined
  const lines = adoptions.flatMap(({ content }) => readUndo(content))
  const statements: string[] = []
  const guarded: string[] = []
  for (const line of lines) {
    const table = line.startsWith('drop function ') ? undefined : tableName.exec(line)?.[0]
    if (table !== undefined && !(await exists(transaction, table))) continue
    if (line.endsWith(' disable row level security') && table !== undefined) {
      const dropped = lines.flatMap((other) => policyOn(other, table) ?? [])
      if (await hasOtherPolicies(transaction, table, dropped)) {
        guarded.push(table)
        continue
      }
    }
    statements.push(line)
  }
  const content = [
    '-- Undoes basalt adopt.',
    ...adoptions.map(({ name }) => undoesPrefix + name),
    ...statements.map((statement) => `${statement};`),
    '',
  ].join('\n')
  return { adoptions: adoptions.map(({ name }) => name), content, guarded }
}

async function exists(transaction: Queryable, table: string): Promise<boolean> {
  const { found } = await transaction.one<{ found: boolean }>(
    sql`select to_regclass(${table}) is not null as found`,
  )
  return found
}

/** Returns the policy that a line drops on the table. */
function policyOn(line: string, table: string): string | undefined {
  const found = /^drop policy if exists "((?:[^"]|"")+)" on (.*)$/s.exec(line)
  return found?.[2] === table ? found[1]?.replaceAll('""', '"') : undefined
}

async function hasOtherPolicies(
  transaction: Queryable,
  table: string,
  names: readonly string[],
): Promise<boolean> {
  const { found } = await transaction.one<{ found: boolean }>(sql`
    select exists (
      select from pg_policy where polrelid = to_regclass(${table}) and not polname::text = any (${names})
    ) as found`)
  return found
}
