import { randomBytes } from 'node:crypto'
import type { Relation } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileIdentity } from './identity.ts'
import { compileRegclass } from './look-up.ts'
import { relationName } from './record.ts'

/** Random for each process, so no value sent by a caller can look like it. */
const missingToken = `missing ${randomBytes(9).toString('base64url')} `

/**
 * Fails when there is no record. Postgres has no statement that fails on purpose, so it casts a text of ours to a
 * number; the record in it keeps the planner from doing so beforehand.
 *
 * @param reason a text that the failure says, too
 */
export function failWithout(record: Sql, reason?: Sql): Sql {
  const text =
    reason === undefined ? sql.literal(missingToken) : sql`${sql.literal(missingToken)} || ${reason}`
  return sql`case when ${record} is null then (${text} || coalesce(${record}::text, '0'))::int end`
}

/** Whether a statement that must touch a row touched none. */
export function isRowMissing(failure: StatementFailed): boolean {
  return failure.error.code === '22P02' && failure.error.message.includes(missingToken)
}

/** Whether the row is there, but was not updated or deleted. */
export function isChangeDiscarded(failure: StatementFailed): boolean {
  return isRowMissing(failure) && failure.error.message.includes(`${missingToken}${discarded}`)
}

const discarded = 'discarded '

/**
 * The reason for {@link failWithout}, by which {@link isChangeDiscarded} knows it: there is a record of that key, and a
 * trigger that can keep such changes of it from being made. Where policies apply they may have hidden it from the change.
 */
export function compileDiscarded(relation: Relation, action: ChangeAction, alias: string): Sql | undefined {
  if (action === 'create') return undefined
  const events = sql.integer(beforeEachRow | triggerEvents[action])
  return sql`case
    when not row_security_active(${compileRegclass(relation)}) and exists (
      select from pg_catalog.pg_trigger
      where tgrelid = ${compileRegclass(relation)} and tgenabled <> 'D' and tgtype & ${events} = ${events}
    ) and exists (select from ${relationName(relation)} ${sql.id(alias)} where ${compileIdentity(relation, alias)})
    then ${sql.literal(discarded)} else '' end`
}

/** Bits of `tgtype` (PostgreSQL, pg_trigger.h). */
const beforeEachRow = 3
const triggerEvents = { delete: 8, update: 16 } as const
