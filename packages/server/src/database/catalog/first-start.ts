import { sql } from '../sql.ts'
import type { SystemDatabase } from '../system-database.ts'
import { closedRelations } from './advisories.ts'
import type { Catalog } from './model.ts'
import { compareWithNamesByConstraint } from './relation-changes.ts'

type Log = (detail: object, message: string) => void

/** Runs the work in the first start of any node: at least once, and never again after a success. */
async function atFirst(database: SystemDatabase, key: string, work: () => void): Promise<void> {
  await database.transaction(async (transaction) => {
    const isFirst = await transaction.count(
      sql`insert into basalt.settings (key, value) values (${key}, 'true') on conflict do nothing`,
    )
    if (isFirst > 0) work()
  })
}

/**
 * Reports once per database the relations that `database.require_rls` closes to callers with grants on them.
 */
export async function reportClosedRelations(
  database: SystemDatabase,
  catalog: Catalog,
  log: Log,
): Promise<void> {
  const closed = closedRelations(catalog).map(({ collection }) => collection)
  await atFirst(database, 'reported_require_rls', () => {
    if (closed.length === 0) return
    log(
      { tables: closed },
      'database.require_rls is on: relations without row-level security are closed to callers, who had grants on ' +
        'them. Enable row-level security on each and write its policies, or set database.require_rls = false',
    )
  })
}

/**
 * Reports once per database the relation names with a new meaning. They now follow the order of columns rather
 * than the names of constraints.
 */
export async function reportRenamedRelations(
  database: SystemDatabase,
  catalog: Catalog,
  log: Log,
): Promise<void> {
  const changes = compareWithNamesByConstraint(catalog)
  await atFirst(database, 'reported_relation_names', () => {
    if (changes.length === 0) return
    log(
      { relations: changes },
      'names of relations (expand, filters) changed: of keys that want one name the one whose column stands first in its ' +
        'table has it now. A comment on the constraint keeps the name of before',
    )
  })
}
