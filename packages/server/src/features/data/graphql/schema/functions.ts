import {
  GraphQLBoolean,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  type GraphQLFieldConfigMap,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLOutputType,
} from 'graphql'
import type { Catalog, DatabaseFunction, Parameter, Relation } from '../../../../database/catalog/model.ts'
import type { Reader } from '../../collections/index.ts'
import { callableFunctions, relationOfResult } from '../../procedures/index.ts'
import type { ColumnTypes } from './column-types.ts'
import { describeFunction } from './descriptions.ts'
import type { CallMeaning } from './meaning.ts'
import { invert, Namespace, nameAll, nameResult, nameTables, type TableNames, toPascal } from './names.ts'
import { intScalar, jsonScalar } from './scalars.ts'

type Fields = GraphQLFieldConfigMap<unknown, unknown>

/** Parts of the schema that functions share with tables. */
export interface FunctionContext {
  readonly catalog: Catalog
  readonly caller: {
    readonly reader: Reader
    readonly mayWrite: boolean
    readonly tables: ReadonlySet<string> | undefined
  }
  /** Names of types. */
  readonly types: Namespace
  readonly columns: ColumnTypes
  /** Returns the names of a table whose records the caller may read. */
  readonly namesOf: (relation: Relation) => TableNames | undefined
  /** Returns the object type of a record, and the arguments of lists of it. */
  readonly recordOf: (
    relation: Relation,
    names: TableNames,
  ) => { readonly record: GraphQLObjectType; readonly args: GraphQLFieldConfigArgumentMap }
}

/** Fields of functions, and the names of rows that are no records of a table. */
export interface FunctionFields {
  readonly queries: Fields
  readonly mutations: Fields
  readonly names: ReadonlyMap<Relation, TableNames>
}

/**
 * Creates the fields of the caller's functions: stable and immutable ones for queries, volatile ones for mutations.
 * Functions with overloads, unnamed parameters or undeclared columns have none.
 */
export function createFunctionFields(context: FunctionContext): FunctionFields {
  const { catalog, caller } = context
  const named = nameFunctions(catalog)
  const tables = new Map([...catalog.relations.values()].map((relation) => [relation.oid, relation]))
  const [queries, mutations]: [Fields, Fields] = [{}, {}]
  const names = new Map<Relation, TableNames>()
  for (const called of callableFunctions(catalog, caller.reader)) {
    const given = named.get(called)
    const fields = isRead(called) ? queries : mutations
    const isServed =
      caller.tables?.has(`rpc:${called.procedure}`) !== false &&
      (isRead(called) || caller.mayWrite) &&
      hasColumns(called)
    if (given === undefined || !isServed) continue
    const table = tables.get(called.returnedRelation ?? '')
    fields[given.field] = createField(context, called, given, table, names)
  }
  return { queries, mutations, names }
}

interface FunctionNames {
  readonly field: string
  /** Type of rows that are no records of a table. */
  readonly result: string
}

/** Names the functions after everything that has a table's name in its own. Names are the same for every caller. */
function nameFunctions(catalog: Catalog): ReadonlyMap<DatabaseFunction, FunctionNames> {
  const tables = [...nameTables(catalog).values()].map(({ table }) => table)
  const taken = {
    query: new Namespace(
      tables.flatMap((each) => [each, `${each}_by_pk`, `${each}_aggregate`, `${each}_facets`]),
    ),
    mutation: new Namespace(tables.flatMap((each) => [`insert_${each}`, `update_${each}`, `delete_${each}`])),
  }
  const functions = [...catalog.procedures.values()].flatMap(([called]) => called ?? [])
  const fields = new Map([
    ...nameAll(functions.filter(isRead), ({ procedure }) => procedure, taken.query),
    ...nameAll(
      functions.filter((each) => !isRead(each)),
      ({ procedure }) => procedure,
      taken.mutation,
    ),
  ])
  const results = nameAll(functions, (called) => `${toPascal(fields.get(called) ?? '')}Result`)
  return new Map(
    [...fields].map(([called, field]) => [called, { field, result: results.get(called) ?? field }]),
  )
}

function isRead({ volatility }: DatabaseFunction): boolean {
  return volatility !== 'volatile'
}

/** Returns whether the result is no row, or one with columns: an object type has fields. */
function hasColumns({ result }: DatabaseFunction): boolean {
  return result.kind !== 'row' || result.columns.length > 0
}

function createField(
  context: FunctionContext,
  called: DatabaseFunction,
  { field: name, result: resultName }: FunctionNames,
  table: Relation | undefined,
  names: Map<Relation, TableNames>,
): GraphQLFieldConfig<unknown, unknown> {
  const { columns, types } = context
  const parameters = nameAll(called.parameters, (parameter) => parameter.name, new Namespace())
  const isSet = called.returnsSet && called.result.kind !== 'void'
  const listArgs: GraphQLFieldConfigArgumentMap = isSet
    ? { limit: { type: intScalar }, offset: { type: intScalar } }
    : {}
  const finish = (
    type: GraphQLOutputType,
    meaning: Pick<CallMeaning, 'relation' | 'value'>,
    list: GraphQLFieldConfigArgumentMap = listArgs,
  ): GraphQLFieldConfig<unknown, unknown> => ({
    type: isSet ? new GraphQLNonNull(new GraphQLList(type)) : type,
    description: describeFunction(called, name),
    // A parameter takes precedence over an argument of lists.
    args: { ...list, ...createArguments(called, parameters, columns) },
    extensions: { meaning: { kind: 'call', called, parameters: invert(parameters), ...meaning } },
  })
  const { result } = called
  switch (result.kind) {
    case 'void':
      return finish(new GraphQLNonNull(GraphQLBoolean), { relation: undefined, value: undefined })
    case 'record':
      return finish(jsonScalar, { relation: undefined, value: undefined })
    case 'scalar': {
      const { type, isText, renamed } = columns.find(result.type)
      const [column] = relationOfResult(called).columns
      const value = column && ({ kind: 'column', column, isText, renamed } as const)
      return finish(type, { relation: undefined, value })
    }
    case 'row': {
      const tableNames = table && context.namesOf(table)
      const relation = tableNames === undefined || table === undefined ? relationOfResult(called) : table
      const rowNames = tableNames ?? nameResult(relation, types.claim(resultName))
      if (relation !== table) names.set(relation, rowNames)
      const { record, args } = context.recordOf(relation, rowNames)
      return isSet
        ? finish(new GraphQLNonNull(record), { relation, value: undefined }, args)
        : finish(record, { relation, value: undefined })
    }
  }
}

function createArguments(
  { isStrict }: DatabaseFunction,
  parameters: ReadonlyMap<Parameter, string>,
  columns: ColumnTypes,
): GraphQLFieldConfigArgumentMap {
  return Object.fromEntries(
    [...parameters].map(([{ type: parameterType, hasDefault, isVariadic }, name]) => {
      const { type } = columns.find(parameterType)
      const isRequired = !hasDefault && !isVariadic && (isStrict || parameterType.isNotNull)
      return [name, { type: isRequired ? new GraphQLNonNull(type) : type }]
    }),
  )
}
