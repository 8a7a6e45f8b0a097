import type { Connection } from '../../database/connection/connection.ts'
import { runStatement } from '../../database/errors/script-failure.ts'
import { sql } from '../../database/sql.ts'
import { type Queryable, queryableOn } from '../../database/system-database.ts'
import { type Answered, component } from '../../http/schemas.ts'
import type { SqlStatement } from '../../lib/sql-statements.ts'
import { Type } from '../../lib/type.ts'

/** Lock that a transaction holds until its end. */
export const HeldLock = component(
  'StructureLock',
  Type.Object({
    relation: Type.String(),
    mode: Type.String(),
    blocks: Type.Enum(['reads and writes', 'writes', 'changes of the schema']),
    heldMs: Type.Number({ description: 'From the statement that took it to the end of the transaction.' }),
    line: Type.Integer(),
  }),
)
export type HeldLock = Answered<typeof HeldLock>

/** Relation whose file was rewritten, with its present size. */
export interface Rewritten {
  readonly relation: string
  readonly bytes: number
}

/** First acquisition of the strongest lock on a relation that existed before. */
export interface LockAcquisition {
  readonly relation: string
  readonly mode: string
  readonly line: number
  /** Time by `performance.now()`. */
  readonly at: number
}

export interface StatementHooks {
  readonly before?: () => Promise<void>
  readonly after?: (statement: SqlStatement) => Promise<void>
}

/**
 * Runs the statements in the transaction of the connection, and reads its locks after each.
 *
 * @param before is called before each, `after` when it has run
 */
export async function runAndWatchLocks(
  connection: Connection,
  statements: readonly SqlStatement[],
  files: RelationFiles,
  { before, after }: StatementHooks = {},
): Promise<LockAcquisition[]> {
  const queryable = queryableOn(connection)
  const taken = new Map<string, LockAcquisition>()
  for (const statement of statements) {
    await before?.()
    const at = performance.now()
    await runStatement(connection, statement)
    await after?.(statement)
    for (const { relation, mode } of await listLocks(queryable)) {
      const known = taken.get(relation)
      if (!files.has(relation) || (known !== undefined && strength(known.mode) >= strength(mode))) continue
      taken.set(relation, { relation, mode, line: statement.line, at })
    }
  }
  return [...taken.values()]
}

export function describeLock({ relation, mode, line, at }: LockAcquisition, endedAt: number): HeldLock {
  return { relation, mode, blocks: blockedBy(mode), heldMs: Math.round(endedAt - at), line }
}

/** Finds the rewritten relations. Pure. */
export function findRewritten(before: RelationFiles, after: RelationFiles): Rewritten[] {
  return [...after].flatMap(([relation, { filenode, bytes }]) => {
    const was = before.get(relation)
    return was === undefined || was.filenode === filenode ? [] : [{ relation, bytes: Number(bytes) }]
  })
}

/**
 * Lock modes from weak to strong (PostgreSQL, Explicit Locking). The weaker ones block nothing but changes of
 * the schema.
 */
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

/** File and size of each relation. */
export type RelationFiles = ReadonlyMap<string, { readonly filenode: string; readonly bytes: string }>

export async function listFiles(queryable: Queryable): Promise<RelationFiles> {
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
