import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { originOf } from '../../../../database/errors/definition-faults.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import type { Collections } from '../collections.ts'
import { compileSelectedFacets } from '../compile/facets.ts'
import { compileHybridItems } from '../compile/hybrid.ts'
import { compileItems } from '../compile/list.ts'
import { compileNearestItems } from '../compile/nearest.ts'
import { compileSelectList } from '../compile/record.ts'
import { compileFrom } from '../compile/rows.ts'
import { compileFigures } from '../compile/selection.ts'
import { compileVectorSettings } from '../compile/vector.ts'
import { explainFailure } from '../faults/explain.ts'
import { firstFailure } from '../faults/probe.ts'
import type { SelectedFacets } from '../plan/facets.ts'
import type { HybridPlan } from '../plan/hybrid.ts'
import { type ListPlan, relationsOfList } from '../plan/list.ts'
import { type RecordPlan, relationsOf } from '../plan/record.ts'
import { type RowsPlan, relationsOfRows } from '../plan/rows.ts'
import type { SelectedAggregate } from '../plan/selection.ts'
import type { NearestPlan } from '../plan/vector.ts'
import type { Spender } from '../read/list-request.ts'
import { noteSearch, requireTables } from '../read/reading.ts'
import { fill, type Template } from '../statement-cache.ts'

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
  | { readonly kind: 'facets'; readonly facets: SelectedFacets }
  | {
      readonly kind: 'nearest'
      readonly nearest: NearestPlan
      readonly findVector: FindVector
    }
  | {
      readonly kind: 'hybrid'
      readonly hybrid: HybridPlan
      readonly findVector: FindVector
    }
  | ReadCall

/** Function that returns the vector of a list as pgvector reads it. */
type FindVector = (caller: Spender) => string | Promise<string>

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
  readonly template: Template
  /** Returns the statement for callers who see few rows. */
  readonly direct: () => Template
  /** Calls before the statement. */
  readonly settings: readonly Call[]
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
  const settings = reads.flatMap((read) => compileSettings(read) ?? [])
  return {
    reads,
    template: statements.template(compileDocument(reads)),
    direct: () => statements.template(compileDocument(planDirect())),
    settings: settings.map((each) => statements.call(each)),
    relations: [...new Set(reads.flatMap(relationsOfRead))],
  }
}

function compileSettings(read: DocumentRead): Sql | undefined {
  if (read.kind === 'nearest') return compileVectorSettings(read.nearest.vector, read.nearest.limit)
  if (read.kind === 'hybrid') return compileVectorSettings(read.hybrid.vector, read.hybrid.legLimit)
  return undefined
}

function compileDocument(reads: readonly DocumentRead[]): Sql {
  return sql`select ${sql.join(reads.map((read, index) => sql`(${compileRead(read, index)})::text`))}`
}

/** Returns the name of the slot that has the vector of a read. */
function vectorSlotOf(index: number): string {
  return `vector ${index}`
}

function compileRead(read: DocumentRead, index: number): Sql {
  switch (read.kind) {
    case 'list':
      return compileItems(read.list, read.offset)
    case 'record':
      return sql`
        select row_to_json(r.*)
        from (select ${compileSelectList(read.record, 't')} ${compileFrom(read.rows, 't')} limit 1) r`
    case 'aggregate':
      return compileFigures(read.aggregate, 't')
    case 'facets':
      return compileSelectedFacets(read.facets)
    case 'nearest':
      return compileNearestItems(read.nearest, new Slot(vectorSlotOf(index)))
    case 'hybrid':
      return compileHybridItems(read.hybrid, new Slot(vectorSlotOf(index)))
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
    case 'facets':
      return read.facets.rows
    case 'nearest':
      return read.nearest.rows
    case 'hybrid':
      return read.hybrid.found
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
    case 'facets':
      return relationsOfRows(read.facets.rows)
    case 'nearest':
      return relationsOfList(read.nearest)
    case 'hybrid':
      return relationsOfList({ record: read.hybrid.record, rows: read.hybrid.found })
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
  { reads, template, direct, settings, relations }: CompiledReads,
): Promise<readonly string[]> {
  requireTables(caller, relations)
  const tables = reads.filter((read) => !isCall(read))
  for (const read of tables) noteSearch(collections, rowsOf(read))
  const vectors = await Promise.all(
    reads.map(async (read, index) =>
      'findVector' in read ? [[vectorSlotOf(index), await read.findVector(caller)] as const] : [],
    ),
  )
  const slots = Object.fromEntries(vectors.flat())
  const step: Step = {
    ...fill(template, slots),
    forFew: { rows: sortedRows, call: () => fill(direct(), slots) },
  }
  try {
    const answers = await collections.database.run(caller.scope, [...settings, step], {
      isRead: true,
      // A function may write, whatever its declaration.
      isReadOnly: reads.some(isCall),
      isAbandoned: caller.isAbandoned,
      consistency: caller.consistency,
    })
    return reads.map((_, index) => answers.at(-1)?.rows[0]?.[index] ?? 'null')
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
