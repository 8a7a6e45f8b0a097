import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { originOf } from '../../../../database/errors/definition-faults.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import type { Collections } from '../collections.ts'
import { compileItems } from '../compile/list.ts'
import { compileSelectList } from '../compile/record.ts'
import { compileFrom } from '../compile/rows.ts'
import { compileFigures } from '../compile/selection.ts'
import { explainFailure } from '../faults/explain.ts'
import { firstFailure } from '../faults/probe.ts'
import { type ListPlan, relationsOfList } from '../plan/list.ts'
import { type RecordPlan, relationsOf } from '../plan/record.ts'
import { type RowsPlan, relationsOfRows } from '../plan/rows.ts'
import type { SelectedAggregate } from '../plan/selection.ts'
import { noteSearch, requireTables } from '../read/reading.ts'

/** One of several reads that a document sends together. */
export type DocumentRead =
  | {
      readonly kind: 'list'
      readonly list: ListPlan
      readonly offset: number
    }
  /** At most one record; null where there is none. */
  | { readonly kind: 'record'; readonly record: RecordPlan; readonly rows: RowsPlan }
  | { readonly kind: 'aggregate'; readonly aggregate: SelectedAggregate }
  | ReadCall

/** Call of a function, whose feature compiles it and explains its failures. */
export interface ReadCall {
  readonly kind: 'call'
  /** Query of one JSON value. */
  readonly query: Sql
  /** Relations that the selection of the result reads. */
  readonly relations: readonly Relation[]
  /** @param isOnly true if nothing else in the statement can have failed */
  readonly explain: (
    collections: Collections,
    caller: Caller,
    failure: StatementFailed,
    isOnly: boolean,
  ) => Promise<AppError | undefined>
}

type TableRead = Exclude<DocumentRead, ReadCall>

/** Reads of a document, compiled to one statement. */
export interface CompiledReads {
  readonly reads: readonly DocumentRead[]
  readonly steps: readonly Step[]
  readonly relations: readonly Relation[]
}

/** Rows that PostgreSQL reads and sorts in the time of an index scan past the rows of other owners. */
const sortedRows = 4096

/**
 * Compiles the reads to one statement. Its one row has a column for each.
 *
 * @param planDirect plans the same reads for callers who see few rows
 */
export function compileReads(
  { statements }: Pick<Collections, 'statements'>,
  reads: readonly DocumentRead[],
  planDirect: () => readonly DocumentRead[],
): CompiledReads {
  const call = statements.call(compileDocument(reads))
  const step: Step = {
    ...call,
    forFew: { rows: sortedRows, call: () => statements.call(compileDocument(planDirect())) },
  }
  return { reads, steps: [step], relations: [...new Set(reads.flatMap(relationsOfRead))] }
}

function compileDocument(reads: readonly DocumentRead[]): Sql {
  return sql`select ${sql.join(reads.map((read) => sql`(${compileRead(read)})::text`))}`
}

function compileRead(read: DocumentRead): Sql {
  switch (read.kind) {
    case 'list':
      return compileItems(read.list, read.offset)
    case 'record':
      return sql`
        select row_to_json(r.*)
        from (select ${compileSelectList(read.record, 't')} ${compileFrom(read.rows, 't')} limit 1) r`
    case 'aggregate':
      return compileFigures(read.aggregate, 't')
    case 'call':
      return read.query
  }
}

function rowsOf(read: TableRead): RowsPlan {
  switch (read.kind) {
    case 'list':
      return read.list.rows
    case 'record':
      return read.rows
    case 'aggregate':
      return read.aggregate.rows
  }
}

function relationsOfRead(read: DocumentRead): readonly Relation[] {
  switch (read.kind) {
    case 'list':
      return relationsOfList(read.list)
    case 'record':
      return [...relationsOf(read.record), ...relationsOfRows(read.rows)]
    case 'aggregate':
      return relationsOfRows(read.aggregate.rows)
    case 'call':
      return read.relations
  }
}

function isCall(read: DocumentRead): read is ReadCall {
  return read.kind === 'call'
}

/**
 * Runs the reads in one message and one snapshot.
 *
 * @returns the JSON text of each
 * @throws AppError of the first read that can be blamed
 */
export async function runReads(
  collections: Collections,
  caller: Caller,
  { reads, steps, relations }: CompiledReads,
): Promise<readonly string[]> {
  requireTables(caller, relations)
  const tables = reads.filter((read) => !isCall(read))
  for (const read of tables) noteSearch(collections, rowsOf(read))
  try {
    const [answer] = await collections.database.run(caller.scope, steps, {
      isRead: true,
      // A function may write, whatever its declaration.
      isReadOnly: reads.some(isCall),
      isAbandoned: caller.isAbandoned,
    })
    return reads.map((_, index) => answer?.rows[0]?.[index] ?? 'null')
  } catch (error) {
    throw (await explainReads(collections, caller, tables, reads.filter(isCall), error)) ?? error
  }
}

async function explainReads(
  collections: Collections,
  caller: Caller,
  tables: readonly TableRead[],
  calls: readonly ReadCall[],
  failure: unknown,
): Promise<AppError | undefined> {
  if (failure instanceof StatementFailed) {
    const explained = await explainCalls(collections, caller, calls, failure, tables.length === 0)
    if (explained !== undefined) return explained
  }
  for (const read of tables) {
    const work = { action: 'read', relations: relationsOfRead(read), rows: rowsOf(read) } as const
    const found = await explainFailure(collections, caller, failure, work)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the error of the call that failed; undefined if another read may have failed. */
async function explainCalls(
  collections: Collections,
  caller: Caller,
  calls: readonly ReadCall[],
  failure: StatementFailed,
  isComplete: boolean,
): Promise<AppError | undefined> {
  const isOnly = isComplete && calls.length === 1
  for (const call of calls) {
    const explained = await call.explain(collections, caller, failure, isOnly)
    if (explained !== undefined) return explained
  }
  const origin = originOf(failure.error)
  if (origin === 'state' || origin === 'definition') return undefined
  // PostgreSQL does not say which function failed: the calls run once more, each by itself.
  const { database, statements } = collections
  for (const call of calls) {
    const alone = [statements.call(compileDocument([call]))]
    const found = await firstFailure({ database, statements, caller }, alone, { isReadOnly: true })
    const explained = found && (await call.explain(collections, caller, found, true))
    if (explained !== undefined) return explained
  }
  return undefined
}
