import type { Connection } from '../../database/connection.ts'
import { runStatement, ScriptFailure } from '../../database/script-failure.ts'
import { sql } from '../../database/sql.ts'
import { inTransaction, type Queryable, queryableOn } from '../../database/system-database.ts'
import { OperatorError } from '../../lib/errors.ts'
import { type AccessChange, compareAccess, readAccess } from '../schema/access.ts'
import type { MigrationFile } from './files.ts'

export interface Rehearsed {
  readonly name: string
  readonly durationMs: number
  /** The strongest lock on each relation that was there before; none are observed of a file without a transaction. */
  readonly locks: readonly HeldLock[]
  /** Relations whose files were written anew. */
  readonly rewritten: readonly { readonly relation: string; readonly bytes: number }[]
}

export interface HeldLock {
  readonly relation: string
  readonly mode: string
  /** What others cannot do meanwhile. */
  readonly blocks: 'reads and writes' | 'writes' | 'changes of the schema'
  /** From the statement that took it to the end of the transaction. */
  readonly heldMs: number
  readonly line: number
}

export interface Rehearsal {
  readonly migrations: readonly Rehearsed[]
  readonly access: readonly AccessChange[]
}

/** Runs the files on a copy, and watches. @throws OperatorError with the line that fails */
export async function rehearse(connection: Connection, files: readonly MigrationFile[]): Promise<Rehearsal> {
  const before = await inTransaction(connection, readAccess)
  const migrations: Rehearsed[] = []
  for (const file of files) migrations.push(await rehearseFile(connection, file))
  const after = await inTransaction(connection, readAccess)
  return { migrations, access: compareAccess(before, after) }
}

async function rehearseFile(connection: Connection, file: MigrationFile): Promise<Rehearsed> {
  const queryable = queryableOn(connection)
  const before = await listFiles(queryable)
  const startedAt = performance.now()
  const taken = new Map<string, { mode: string; line: number; at: number }>()
  const run = async (watch: boolean) => {
    for (const statement of file.statements) {
      const at = performance.now()
      await runStatement(connection, statement)
      if (!watch) continue
      for (const { relation, mode } of await listLocks(queryable)) {
        const known = taken.get(relation)
        if (!before.has(relation) || (known !== undefined && strength(known.mode) >= strength(mode))) continue
        taken.set(relation, { mode, line: statement.line, at })
      }
    }
  }
  try {
    await (file.isTransaction ? inTransaction(connection, () => run(true)) : run(false))
  } catch (error) {
    if (!(error instanceof ScriptFailure)) throw error
    throw new OperatorError(`${file.name}:${error.line}: ${error.message}`, { cause: error })
  }
  const endedAt = performance.now()
  await connection.script('reset role; reset all')
  const after = await listFiles(queryable)
  return {
    name: file.name,
    durationMs: Math.round(endedAt - startedAt),
    locks: [...taken].map(([relation, { mode, line, at }]) => ({
      relation,
      mode,
      blocks: blockedBy(mode),
      heldMs: Math.round(endedAt - at),
      line,
    })),
    rewritten: [...after].flatMap(([relation, { filenode, bytes }]) => {
      const was = before.get(relation)
      return was === undefined || was.filenode === filenode ? [] : [{ relation, bytes: Number(bytes) }]
    }),
  }
}

/** From weak to strong (PostgreSQL, Explicit Locking); the weaker ones block nothing but changes of the schema. */
const modes = [
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
]

function strength(mode: string): number {
  return modes.indexOf(mode)
}

function blockedBy(mode: string): HeldLock['blocks'] {
  if (mode === 'AccessExclusiveLock') return 'reads and writes'
  return mode === 'ShareUpdateExclusiveLock' ? 'changes of the schema' : 'writes'
}

async function listLocks(queryable: Queryable): Promise<{ relation: string; mode: string }[]> {
  return await queryable.many<{ relation: string; mode: string }>(sql`
    select format('%I.%I', n.nspname, c.relname) as relation, l.mode
    from pg_locks l
    join pg_class c on c.oid = l.relation
    join pg_namespace n on n.oid = c.relnamespace
    where l.pid = pg_backend_pid() and l.granted and c.relkind not in ('i', 'I') and l.mode = any (${modes})
      and n.nspname not like 'pg\\_%' and n.nspname not in ('information_schema', 'basalt')
    order by relation, array_position(${modes}, l.mode)`)
}

/** By relation, the file that has its rows, and its size. */
async function listFiles(queryable: Queryable): Promise<Map<string, { filenode: string; bytes: string }>> {
  const rows = await queryable.many<{ relation: string; filenode: string; bytes: string }>(sql`
    select format('%I.%I', n.nspname, c.relname) as relation, pg_relation_filenode(c.oid)::text as filenode,
      pg_relation_size(c.oid)::text as bytes
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm', 'i', 'p', 'I') and n.nspname not like 'pg\\_%'
      and n.nspname not in ('information_schema', 'basalt')
    order by n.nspname, c.relname`)
  return new Map(rows.map(({ relation, filenode, bytes }) => [relation, { filenode, bytes }]))
}
