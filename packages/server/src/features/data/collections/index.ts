export type { Caller } from './access/caller.ts'
export { requireRelation, requireWritable, withCatalog } from './access/catalog-access.ts'
export { parsePrecondition } from './access/precondition.ts'
export { admitWhere } from './access/public-access.ts'
export { tagOf } from './access/representation.ts'
export { requireRls } from './access/require-rls.ts'
export { type CollectionDeps, type Collections, openCollections } from './collections.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { rowValues } from './compile/computed.ts'
export { type BoundValues, compileFilter } from './compile/filter.ts'
export { compileJsonValue } from './compile/json-value.ts'
export { compileOrder } from './compile/keyset.ts'
export { compileItem } from './compile/list.ts'
export { compileSelectList } from './compile/record.ts'
export { relationName } from './compile/relation.ts'
export { compileConditions } from './compile/rows.ts'
export { compileTrigramKeys, compileVector } from './compile/search.ts'
export { partIndexName, searchIndexNames, searchIndexPrefixes } from './compile/search-index-names.ts'
export { compileDistinct, compileSelection } from './compile/selection.ts'
export {
  type CompiledReads,
  compileReads,
  type DocumentRead,
  type ReadCall,
  runReads,
} from './document/reads.ts'
export {
  type DocumentWrite,
  type InsertedRow,
  runWrites,
  type WriteCall,
  type WriteResult,
} from './document/writes.ts'
export { collectionErrors, collectionErrorTable } from './errors.ts'
export { findConditionFault } from './faults/condition-faults.ts'
export { firstFailure } from './faults/probe.ts'
export { openInTransaction, type TransactionData } from './hooks/in-transaction.ts'
export {
  type ChangeOutcome,
  type HookSet,
  type HookTransaction,
  noHooks,
  type RecordChange,
  type TableHooks,
  type WriteHooks,
} from './hooks/write-hooks.ts'
export type { BackgroundImports, ReceivedImport } from './import/background.ts'
export { importErrors, importErrorTable } from './import/errors.ts'
export type { ImportResult, ImportRun } from './import/result.ts'
export type { Condition, Value } from './parse/condition.ts'
export { parseFacets } from './parse/facets.ts'
export { parseListBody } from './parse/list-body.ts'
export { parseListQuery, parseOrder, type SortTerm } from './parse/list-query.ts'
export { type RecordBody, readRecord } from './parse/record-body.ts'
export { parseBodyId } from './parse/record-id.ts'
export { parseSearch } from './parse/search.ts'
export { parseSpatial } from './parse/spatial.ts'
export { findTextFault, requireFittingValue } from './parse/values.ts'
export {
  type DistanceMetric,
  parseMetric,
  parseVector,
  parseVectorValue,
  type VectorQuery,
} from './parse/vector.ts'
export type { BulkPlan, ColumnChange } from './plan/bulk.ts'
export { isComparable, planTest } from './plan/condition.ts'
export {
  type FacetMember,
  type FacetsPlan,
  type FacetValueMember,
  isFacetable,
  planFacets,
  type SelectedFacets,
} from './plan/facets.ts'
export type { FilterPlan } from './plan/filter-plan.ts'
export { hybridNames, planHybrid } from './plan/hybrid.ts'
export { type ListPlan, planList, type ReadLimits } from './plan/list.ts'
export { type OrderKey, planOrder } from './plan/order.ts'
export {
  lacksColumns,
  maySelect,
  mayWriteColumn,
  privilegesOf,
  type Reader,
  requireReadable,
} from './plan/reader.ts'
export { planWholeRecord, type RecordPlan } from './plan/record.ts'
export { mayFollow } from './plan/references.ts'
export { type PlanContext, planRows, type RowsPlan, relationsOfRows } from './plan/rows.ts'
export { isHighlightable, type SearchDefinitions } from './plan/search.ts'
export {
  isSearchable,
  plainSearch,
  planVector,
  type SearchSettings,
  type SearchWeight,
  searchedColumns,
} from './plan/search-vector.ts'
export {
  type AggregateMember,
  type RelatedList,
  type RowValue,
  relationsOfSelected,
  type SelectedAggregate,
  type SelectedColumn,
  type SelectedFigure,
  type SelectedMember,
  type SelectedRecord,
  type Selection,
} from './plan/selection.ts'
export { planUpsert, type UpsertPlan } from './plan/upsert.ts'
export {
  distanceName,
  findVectorColumn,
  formatVector,
  planNearest,
  type VectorColumn,
} from './plan/vector.ts'
export { getRecord } from './read/get.ts'
export { listRecords } from './read/list.ts'
export type { QueryEmbedder, Spender } from './read/list-request.ts'
export { requireEmbedder, vectorFinder } from './read/nearest-request.ts'
export { formatPage } from './read/page-request.ts'
export { readerOf } from './read/reading.ts'
export { bodyOf, type CollectionRequest, callerOf, callerOfIdentity, queryOf } from './request.ts'
export { fill, StatementCache, type Template } from './statement-cache.ts'
export { createRecord } from './write/create.ts'
export { deleteRecord } from './write/delete.ts'
export { updateRecord } from './write/update.ts'

import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { acceptJsonText, acceptUnread } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { browseOperations } from './browse/operations.ts'
import { type CollectionDeps, openCollections } from './collections.ts'
import { exportCsv, exportJson, exportNdjson } from './export/operations.ts'
import { type ImportDeps, openImports } from './import/imports.ts'
import { importOperations } from './import/operations.ts'
import { aggregate } from './read/aggregate.ts'
import { searchFacet } from './read/facet-search.ts'
import { get } from './read/get.ts'
import { list, query } from './read/list.ts'
import { batch, batchAcross } from './write/batch.ts'
import { deleteAll, updateAll } from './write/bulk.ts'
import { create } from './write/create.ts'
import { remove } from './write/delete.ts'
import { update } from './write/update.ts'

const operations = [
  ...browseOperations,
  ...[list, query, aggregate, create, updateAll, deleteAll, batch, searchFacet],
  ...[exportCsv, exportJson, exportNdjson],
  ...[get, update, remove, batchAcross],
]

/** Creates the REST API over every exposed table. */
export function collections({
  imports,
  ...deps
}: CollectionDeps & { readonly imports: ImportDeps }): Feature {
  const opened = openCollections(deps)
  return {
    name: 'collections',
    routes(app) {
      void app.register(async (scope) => {
        // Bodies stay text, because PostgreSQL parses them.
        acceptJsonText(scope)
        checkNothing(scope)
        addOperations(scope, opened, operations)
      })
      void app.register(async (scope) => {
        acceptUnread(scope)
        checkNothing(scope)
        addOperations(scope, openImports(imports), importOperations)
      })
    },
    stop: () => opened.exports.stop(),
  }
}

/** Turns off request validation by schema: what is valid depends on the table, so the handlers check it. */
function checkNothing(scope: HttpServer): void {
  scope.setValidatorCompiler(() => (value) => ({ value }))
}
