import { randomBytes } from 'node:crypto'
import type { Relation } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileIdentity } from './identity.ts'
import { compileRegclass } from './look-up.ts'
import { relationName } from './relation.ts'

/** Token that is random for each process, so that no value sent by a caller can be mistaken for it. */
const missingToken = `missing ${randomBytes(9).toString('base64url')} `

/**
 * Compiles an expression that fails when there is no record. PostgreSQL has no statement that fails on purpose, so it
 * casts a text of ours to a number. The record in the expression keeps the planner from evaluating it beforehand.
 *
 * @param reason a text that the failure includes
 */
export function failWithout(record: Sql, reason?: Sql): Sql {
  const text =
    reason === undefined ? sql.literal(missingToken) : sql`${sql.literal(missingToken)} || ${reason}`
  return sql`case when ${record} is null then (${text} || coalesce(${record}::text, '0'))::int end`
}

/** Returns whether a statement that requires a row affected none. */
export function isRowMissing(failure: StatementFailed): boolean {
  return failure.error.code === '22P02' && failure.error.message.includes(missingToken)
}

/** Returns whether the row exists but was not updated or deleted. */
export function isChangeDiscarded(failure: StatementFailed): boolean {
  return isRowMissing(failure) && failure.error.message.includes(`${missingToken}${discarded}`)
}

const discarded = 'discarded '

/**
 * Compiles the reason for {@link failWithout} by which {@link isChangeDiscarded} recognizes it. A record with the key
 * exists, and a trigger can keep such changes from being made. Where policies apply, they may have hidden the record
 * from the change.
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
