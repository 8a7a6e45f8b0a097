import type { Relation } from '../../../database/catalog/model.ts'
import { captureTriggerPrefix } from '../../../database/change-log.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

const operations = ['insert', 'update', 'delete'] as const

/**
 * Logs what plain SQL changes in the table. What the data API has logged by itself is left out; changes that triggers
 * and foreign keys make are not.
 */
export async function captureTable(transaction: Queryable, relation: Relation): Promise<void> {
  for (const operation of operations) {
    const tables = [
      ...(operation === 'insert' ? [] : [sql`old table as old_rows`]),
      ...(operation === 'delete' ? [] : [sql`new table as new_rows`]),
    ]
    await transaction.count(sql`
      create or replace trigger ${triggerName(operation)}
      after ${sql.join([verbs[operation]])} on ${sql.id(relation.schema, relation.name)}
      referencing ${sql.join(tables, sql` `)}
      for each statement execute function basalt.capture_changes(${sql.literal(relation.collection)})`)
  }
}

export async function releaseTable(transaction: Queryable, relation: Relation): Promise<void> {
  for (const operation of operations) {
    await transaction.count(sql`
      drop trigger if exists ${triggerName(operation)} on ${sql.id(relation.schema, relation.name)}`)
  }
}

const verbs: Readonly<Record<(typeof operations)[number], Sql>> = {
  insert: sql`insert`,
  update: sql`update`,
  delete: sql`delete`,
}

function triggerName(operation: string): Sql {
  return sql.id(`${captureTriggerPrefix}${operation}`)
}
