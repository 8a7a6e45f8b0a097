import { type Sql, sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { type Answered, component } from '../../http/schemas.ts'
import { Type } from '../../lib/type.ts'
import { objectQueries } from './object-queries.ts'

/** Object of the operator's schemas, as PostgreSQL prints it. */
export interface SchemaObject {
  /** Kind such as `table`, `column`, `grant`. */
  readonly kind: string
  /** Name such as `public.todo`, `public.todo.title`. */
  readonly name: string
  readonly definition: string
}

/**
 * Reads every compared object outside of the system's schemas. Names in definitions are qualified, whatever the
 * search path.
 */
export async function readSchema(transaction: Queryable): Promise<SchemaObject[]> {
  await transaction.count(sql`savepoint reading`)
  await transaction.count(sql`select set_config('search_path', 'pg_catalog', true)`)
  const objects = await transaction.many<SchemaObject & Record<string, unknown>>(unionOf(objectQueries))
  // This undoes the setting, too.
  await transaction.count(sql`rollback to savepoint reading`)
  await transaction.count(sql`release savepoint reading`)
  return objects
}

function unionOf(queries: readonly Sql[]): Sql {
  return sql`
    with own_schema as (
      select oid, nspname from pg_namespace
      where nspname not like 'pg\\_%' and nspname not in ('information_schema', 'basalt')
    ), member as (
      select classid, objid from pg_depend where deptype = 'e'
    )
    select kind, name, coalesce(definition, '') as definition
    from (${sql.join(queries, sql` union all `)}) o (kind, name, definition)
    order by kind collate "C", name collate "C", definition collate "C"`
}

export const SchemaChange = component(
  'SchemaChange',
  Type.Object({
    kind: Type.String(),
    name: Type.String(),
    change: Type.Enum(['added', 'removed', 'changed']),
    before: Type.Optional(Type.String()),
    after: Type.Optional(Type.String()),
  }),
)
export type SchemaChange = Answered<typeof SchemaChange>

/** Returns the changes from one schema to another, in the order of kinds and names. Pure. */
export function compareSchemas(
  before: readonly SchemaObject[],
  after: readonly SchemaObject[],
): SchemaChange[] {
  const [old, current] = [byKey(before), byKey(after)]
  return [...new Set([...old.keys(), ...current.keys()])].toSorted().flatMap((key): SchemaChange[] => {
    const [was, is] = [old.get(key), current.get(key)]
    if (was === undefined && is !== undefined) {
      return [{ kind: is.kind, name: is.name, change: 'added', after: is.definition }]
    }
    if (was === undefined) return []
    const { kind, name, definition } = was
    if (is === undefined) return [{ kind, name, change: 'removed', before: definition }]
    if (is.definition === definition) return []
    return [{ kind, name, change: 'changed', before: definition, after: is.definition }]
  })
}

/** Returns the schema after the changes of a migration, without other changes of the database. Pure. */
export function applyChanges(
  objects: readonly SchemaObject[],
  changes: readonly SchemaChange[],
): SchemaObject[] {
  const result = byKey(objects)
  for (const { kind, name, after } of changes) {
    const key = keyOf({ kind, name })
    if (after === undefined) result.delete(key)
    else result.set(key, { kind, name, definition: after })
  }
  return [...result.values()]
}

function byKey(objects: readonly SchemaObject[]): Map<string, SchemaObject> {
  return new Map(objects.map((object) => [keyOf(object), object]))
}

function keyOf({ kind, name }: Pick<SchemaObject, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

/** Formats a change: `added column public.todo.title: text not null`. */
export function describeChange({ kind, name, change, before, after }: SchemaChange): string {
  if (change === 'changed') return `changed ${kind} ${name}: ${oneLine(before)} → ${oneLine(after)}`
  return `${change} ${kind} ${name}${oneLine(after) === '' ? '' : `: ${oneLine(after)}`}`
}

const shownCharacters = 200

function oneLine(text = ''): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line
}
