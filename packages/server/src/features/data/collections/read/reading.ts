import type { Relation } from '../../../../database/catalog/model.ts'
import { type Answer, type Call, StatementFailed } from '../../../../database/connection/message.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import type { Caller } from '../access/caller.ts'
import type { WithCatalog } from '../access/catalog-access.ts'
import type { ExplainFailure, Work } from '../faults/explain.ts'
import type { ReadLimits } from '../plan/list.ts'
import type { Reader } from '../plan/reader.ts'
import { type RowsPlan, searchOf } from '../plan/rows.ts'
import type { SearchDefinitions } from '../plan/search.ts'
import type { StatementCache } from '../statement-cache.ts'
import type { ListRequest } from './list-request.ts'

/** What the endpoints that read collections work with. */
export interface Reading {
  readonly database: Pick<UserDatabase, 'run' | 'begin'>
  readonly statements: StatementCache
  readonly withCatalog: WithCatalog
  readonly searches: SearchDefinitions
  readonly explainFailure: ExplainFailure
  readonly limits: ReadLimits
}

/** Runs the calls as the caller. */
export async function runRead(
  { database, explainFailure }: Reading,
  caller: Caller,
  work: Pick<Work, 'relations' | 'rows'>,
  calls: readonly Call[],
  explain?: ListRequest['explain'],
): Promise<readonly Answer[]> {
  try {
    return await database.run(caller.scope, calls, { isRead: true, isAbandoned: caller.isAbandoned })
  } catch (error) {
    const explained = error instanceof StatementFailed ? explain?.(error) : undefined
    throw explained ?? (await explainFailure(caller, error, { ...work, action: 'read' })) ?? error
  }
}

/** The plan may have been made for another caller. */
export function requireTables({ scope }: Caller, relations: readonly Relation[]): void {
  if (scope.kind !== 'caller' || scope.grant?.tables === undefined) return
  for (const { collection } of relations) requireTable(scope, collection)
}

/** Before rows are read that are searched. */
export function noteSearch({ searches }: Reading, rows: RowsPlan): void {
  if (searchOf(rows) !== undefined) searches.noteSearch?.(rows.relation)
}

export function readerOf({ scope }: Caller): Reader {
  return scope.kind
}

/** Names what was planned for a request; texts of the caller may hold anything, so their lengths tell where they end. */
export function readKey(action: string, reader: Reader, ...texts: readonly string[]): string {
  return `${action} ${reader} ${texts.map((text) => `${text.length} ${text}`).join(' ')}`
}

/** The same for requests that may search. */
export function rowsKey({ searches }: Reading, ...key: Parameters<typeof readKey>): string {
  return `${searches.version} ${readKey(...key)}`
}
