import type { Column, DatabaseFunction, Relation } from '../../../database/catalog/model.ts'

/** Returns whether a call returns rows. */
export function isSet({ returnsSet, result }: DatabaseFunction): boolean {
  return returnsSet && result.kind !== 'void'
}

/** Returns the columns of a returned row; empty if the call returns none. */
export function columnsOf({ result }: DatabaseFunction): readonly Pick<Column, 'name' | 'type'>[] {
  if (result.kind === 'row') return result.columns
  return result.kind === 'scalar' ? [result] : []
}

/** Returns the rows of a function as a relation that a list can be planned on. It has no key. */
export function relationOfResult(called: DatabaseFunction): Relation {
  const columns = columnsOf(called).map(
    ({ name, type }, index): Column => ({
      name,
      position: index + 1,
      type,
      typeName: type.name,
      nullable: true,
      default: undefined,
      identity: undefined,
      isGenerated: false,
      comment: undefined,
      callersMaySelect: true,
      anonymousMaySelect: true,
      callersMayInsert: false,
      callersMayUpdate: false,
      anonymousMayInsert: false,
      anonymousMayUpdate: false,
    }),
  )
  const mayRead = { select: true, insert: false, update: false, delete: false }
  return {
    oid: '',
    schema: called.schema,
    name: called.name,
    collection: called.procedure,
    kind: 'view',
    comment: called.comment,
    rlsEnabled: false,
    hasDescendants: false,
    isOnWorkers: false,
    isInShards: false,
    partitionOf: undefined,
    isOfExtension: false,
    rlsGap: undefined,
    isBypassed: false,
    callersMayReadSystemColumns: false,
    anonymousMayReadSystemColumns: false,
    callers: mayRead,
    anonymous: mayRead,
    version: called.version,
    columns,
    column: new Map(columns.map((column) => [column.name, column])),
    primaryKey: [],
    rowKey: [],
    uniqueKeys: [],
    conflictKeys: [],
    checks: [],
    foreignKeys: [],
    relationships: new Map(),
    indexes: [],
    policies: [],
  }
}
