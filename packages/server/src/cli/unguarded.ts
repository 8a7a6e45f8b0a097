import {
  isPreparedQuery,
  openedSchemasQuery,
  type UnguardedRow,
  unguardedQuery,
} from '../database/catalog/queries/unguarded.ts'
import type { Connection } from '../database/connection/connection.ts'

/** Maximum number of names in one warning. */
const shownNames = 12

/**
 * Notes the relations without policies. The returned function lists those that a script has added.
 *
 * @param isClosed whether `database.require_rls` closes them to callers
 */
export async function watchUnguarded(
  connection: Connection,
  schemas: readonly string[],
  isClosed: boolean,
): Promise<() => Promise<string | undefined>> {
  const find = async () => {
    const opened = await findOpenedSchemas(connection)
    return (await connection.query<UnguardedRow>(unguardedQuery(schemas, opened))).rows
  }
  const known = new Set((await find()).map(({ oid }) => oid))
  return async () =>
    describeUnguarded(
      (await find()).filter(({ oid }) => !known.has(oid)),
      isClosed,
    )
}

/** Returns the schemas whose relations a start has granted to callers; none before the first start. */
export async function findOpenedSchemas(connection: Connection): Promise<string[]> {
  const { rows } = await connection.query<{ prepared: boolean }>(isPreparedQuery)
  if (rows[0]?.prepared !== true) return []
  const opened = await connection.query<{ schema_name: string }>(openedSchemasQuery)
  return opened.rows.map(({ schema_name }) => schema_name)
}

/** Formats one line with the statement that makes policies guard them; undefined when there are none. */
function describeUnguarded(relations: readonly UnguardedRow[], isClosed: boolean): string | undefined {
  const [first, ...others] = relations
  if (first === undefined) return undefined
  const remedy = closeStatement(first)
  const state = isClosed
    ? 'closed to callers until policies guard their rows'
    : 'open to every signed-in caller'
  if (others.length === 0) return `${first.name} is ${state.replace('their', 'its')}: ${remedy}`
  const names = relations.slice(0, shownNames).map(({ name }) => name)
  const more = relations.length - names.length
  return (
    `${relations.length} relations are ${state} ` +
    `(${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}): ${remedy} and likewise for the others`
  )
}

/**
 * Returns the statement that closes a relation. Only tables have policies; a view can use those of the tables
 * that it reads.
 */
export function closeStatement({ kind, name }: UnguardedRow): string {
  if (kind === 'r' || kind === 'p') return `alter table ${name} enable row level security;`
  if (kind === 'v') return `alter view ${name} set (security_invoker = true);`
  return `revoke all on ${name} from basalt_authenticated;`
}
