import { describeContext } from '../../../../database/caller/caller-context.ts'
import { sql } from '../../../../database/sql.ts'
import type { AccessContext } from '../context.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { gate } from '../gates/gate.ts'
import type { ExplainRequest, Explanation } from '../schemas.ts'
import { reproduce } from './psql-script.ts'

/** Explains a table that exists and is not in the API; returns undefined for any other name. */
export async function explainUnexposed(
  { database, catalog }: Pick<AccessContext, 'database' | 'catalog'>,
  caller: ExaminedCaller,
  { table, action = 'select' }: ExplainRequest,
): Promise<Explanation | undefined> {
  if (catalog.current.relations.has(table)) return undefined
  // Names may have dots, so the database decides where the schema ends.
  const found = await database.system.maybeOne<{ schema: string; name: string; is_protected: boolean }>(sql`
    select n.nspname as schema, c.relname as name, c.relrowsecurity as is_protected
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where case n.nspname when 'public' then c.relname else n.nspname || '.' || c.relname end = ${table}
      and n.nspname <> all (${catalog.current.schemas}) and c.relkind in ('r', 'p', 'v', 'm', 'f')
    order by n.nspname
    limit 1`)
  if (found === undefined) return undefined
  const { schema, name } = found
  const { role, settings } = describeContext(caller.scope)
  const sentence = `404 collection not found: ${table}; the schema ${schema} is not one of database.schemas`
  return {
    caller: { label: caller.label, kind: caller.as.kind, role, settings, grant: null },
    table: { collection: table, schema, name, kind: 'table', rlsEnabled: found.is_protected, primaryKey: [] },
    action,
    gates: [...caller.gates, gate('exposed', false, sentence)],
    stages: [],
    policies: [],
    reads: [],
    rows: [],
    isCut: false,
    answer: `${caller.label} is stopped before the policies of ${table}: ${sentence}`,
    statement: undefined,
    plans: undefined,
    psql: reproduce(caller.scope, undefined),
    remains: [],
  }
}
