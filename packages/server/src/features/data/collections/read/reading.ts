import type { Relation } from '../../../../database/catalog/model.ts'
import { type Answer, type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import type { Caller } from '../access/caller.ts'
import type { Collections } from '../collections.ts'
import { collectionErrors } from '../errors.ts'
import { explainFailure, type Work } from '../faults/explain.ts'
import type { FilterPlan } from '../plan/filter-plan.ts'
import type { Reader } from '../plan/reader.ts'
import { type RowsPlan, searchOf } from '../plan/rows.ts'
import type { SearchDefinitions } from '../plan/search.ts'
import type { ListRequest } from './list-request.ts'

/** Runs the calls as the caller. */
export async function runRead(
  collections: Collections,
  caller: Caller,
  work: Pick<Work, 'relations' | 'rows'>,
  calls: readonly Call[],
  explain?: ListRequest['explain'],
): Promise<readonly Answer[]> {
  try {
    return await collections.database.run(caller.scope, calls, {
      isRead: true,
      isAbandoned: caller.isAbandoned,
      consistency: caller.consistency,
    })
  } catch (error) {
    const explained = error instanceof StatementFailed ? explain?.(error) : undefined
    throw (
      explained ?? (await explainFailure(collections, caller, error, { ...work, action: 'read' })) ?? error
    )
  }
}

/**
 * Checks that a program may read every planned table, also when the plan was made for another caller. @throws
 * AppError insufficient_scope
 */
export function requireTables({ scope }: Caller, relations: readonly Relation[]): void {
  if (scope.kind !== 'caller' || scope.grant?.tables === undefined) return
  for (const { collection } of relations) requireTable(scope, collection)
}

/** Announces a search of a relation, and filters for beginnings of texts, before its rows are read. */
export function noteSearch({ searches }: Collections, rows: RowsPlan): void {
  const { relation, conditions } = rows
  if (searchOf(rows) !== undefined) searches.noteSearch?.(relation)
  for (const condition of conditions) {
    if (condition.kind === 'filter') notePrefixes(searches, relation, condition.filter)
  }
}

function notePrefixes(searches: SearchDefinitions, relation: Relation, filter: FilterPlan): void {
  switch (filter.kind) {
    case 'and':
    case 'or':
      for (const term of filter.terms) notePrefixes(searches, relation, term)
      break
    case 'related':
      notePrefixes(searches, filter.relation, filter.condition)
      break
    case 'compare': {
      const { operand, operator, value } = filter
      // A pattern without a wildcard is a comparison for equality.
      if (operator === '~' && operand.as === 'column' && /^[^%_].*[%_]/s.test(value)) {
        searches.notePrefixFilter?.(relation, operand.column.name)
      }
    }
  }
}

export function readerOf({ scope }: Caller): Reader {
  return scope.kind
}

/**
 * Returns the cache key of a planned request. Texts of the caller may hold any character, so each is preceded by its
 * length.
 */
export function readKey(action: string, reader: Reader, ...texts: readonly string[]): string {
  return `${action} ${reader} ${texts.map((text) => `${text.length} ${text}`).join(' ')}`
}

/** Returns the cache key of a request that may search. */
export function rowsKey({ searches }: Collections, ...key: Parameters<typeof readKey>): string {
  return `${searches.version} ${readKey(...key)}`
}

/** Returns the record that a statement returned. @throws AppError record_not_found */
export function requireRecord(answer: Answer | undefined): string {
  const record = answer?.rows[0]?.[0]
  if (record == null) throw collectionErrors.recordNotFound()
  return record
}
