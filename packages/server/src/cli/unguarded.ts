import {
  isPreparedQuery,
  openedSchemasQuery,
  type UnguardedRow,
  unguardedQuery,
} from '../database/catalog/queries/unguarded.ts'
import type { Connection } from '../database/connection/connection.ts'

/** Names in one warning. */
const shownNames = 12

/** Notes which relations no policy guards; the answer says which a script has added to them. */
export async function watchUnguarded(
  connection: Connection,
  schemas: readonly string[],
): Promise<() => Promise<string | undefined>> {
  const find = async () => {
    const opened = await findOpenedSchemas(connection)
    return (await connection.query<UnguardedRow>(unguardedQuery(schemas, opened))).rows
  }
  const known = new Set((await find()).map(({ oid }) => oid))
  return async () => describeUnguarded((await find()).filter(({ oid }) => !known.has(oid)))
}

/** Those whose relations a start has granted to callers; none before the first start. */
export async function findOpenedSchemas(connection: Connection): Promise<string[]> {
  const { rows } = await connection.query<{ prepared: boolean }>(isPreparedQuery)
  if (rows[0]?.prepared !== true) return []
  const opened = await connection.query<{ schema_name: string }>(openedSchemasQuery)
  return opened.rows.map(({ schema_name }) => schema_name)
}

/** One line with the statement that closes what is open; undefined when nothing is. */
function describeUnguarded(relations: readonly UnguardedRow[]): string | undefined {
  const [first, ...others] = relations
  if (first === undefined) return undefined
  const remedy = closeStatement(first)
  if (others.length === 0) return `${first.name} is open to every signed-in caller: ${remedy}`
  const names = relations.slice(0, shownNames).map(({ name }) => name)
  const more = relations.length - names.length
  return (
    `${relations.length} relations are open to every signed-in caller ` +
    `(${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}): ${remedy} and likewise for the others`
  )
}

/** Only tables have policies; a view can leave the decision to those of the tables it reads. */
function closeStatement({ kind, name }: UnguardedRow): string {
  if (kind === 'r' || kind === 'p') return `alter table ${name} enable row level security;`
  if (kind === 'v') return `alter view ${name} set (security_invoker = true);`
  return `revoke all on ${name} from basalt_authenticated;`
}
