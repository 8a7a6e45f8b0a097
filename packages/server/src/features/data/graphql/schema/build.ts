import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  type GraphQLFieldConfigMap,
  type GraphQLInputFieldConfigMap,
  type GraphQLInputObjectType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLScalarType,
  type GraphQLSchema,
  GraphQLString,
} from 'graphql'
import type {
  Catalog,
  Column,
  ColumnType,
  Relation,
  Relationship,
} from '../../../../database/catalog/model.ts'
import {
  distanceName,
  hybridNames,
  isFacetable,
  isHighlightable,
  isSearchable,
  mayFollow,
  maySelect,
  mayWriteColumn,
  privilegesOf,
  type Reader,
} from '../../collections/index.ts'
import { Pace } from '../pace.ts'
import { ColumnTypes } from './column-types.ts'
import { conflictConstraints } from './conflict-constraints.ts'
import { describeColumn, describeRenamed, describeReplaced, describeTable } from './descriptions.ts'
import { createFacetType } from './facets.ts'
import { figureTypeOf, isFigureOf } from './figures.ts'
import { createFunctionFields } from './functions.ts'
import { createSharedInputs } from './inputs.ts'
import { LazyInputObjectType, LazyObjectType, LazySchema } from './lazy-schema.ts'
import type { FieldMeaning, FigureFunction } from './meaning.ts'
import { Namespace, nameTables, scalarNames, type TableNames, toValueName } from './names.ts'
import { floatScalar, intScalar, jsonScalar, scalars } from './scalars.ts'

/** Caller, as far as the schema depends on it. */
export interface SchemaReader {
  readonly reader: Reader
  /** True if the caller may write at all. */
  readonly mayWrite: boolean
  /** Collections that a program may use; undefined: all. */
  readonly tables: ReadonlySet<string> | undefined
  /** True if figures over records are served. */
  readonly hasAggregates: boolean
}

/** Schema of what one kind of caller may use, and the names in it. */
export interface TableSchema {
  readonly schema: GraphQLSchema
  readonly names: ReadonlyMap<Relation, TableNames>
}

type Fields = GraphQLFieldConfigMap<unknown, unknown>
type Field = GraphQLFieldConfig<unknown, unknown>

/** Types of one table. */
interface TableTypes {
  readonly record: GraphQLObjectType
  readonly where: GraphQLInputObjectType
  readonly orderBy: GraphQLInputObjectType | undefined
  readonly columns: GraphQLEnumType | undefined
  readonly aggregate: GraphQLObjectType | undefined
}

/** Builds the schema of the tables that the caller may use, in slices. */
export async function buildSchema(catalog: Catalog, caller: SchemaReader): Promise<TableSchema> {
  return await new SchemaBuilder(catalog, caller).build()
}

class SchemaBuilder {
  readonly #catalog: Catalog
  readonly #caller: SchemaReader
  readonly #names: ReadonlyMap<Relation, TableNames>
  readonly #roots: Namespace
  readonly #types: Namespace
  readonly #columns: ColumnTypes
  readonly #shared: ReturnType<typeof createSharedInputs>
  readonly #tables = new Map<Relation, TableTypes>()
  /** Type of `_action`; undefined without subscriptions. */
  #action: GraphQLEnumType | undefined
  /** Type of facets; undefined without any. */
  #facet: GraphQLObjectType | undefined
  /** Types by the beginning of their names. */
  readonly #holders = new Map<string, GraphQLNamedType[]>()

  constructor(catalog: Catalog, caller: SchemaReader) {
    this.#catalog = catalog
    this.#caller = caller
    const all = nameTables(catalog)
    this.#names = new Map(
      [...all]
        .filter(([relation]) => this.#isShown(relation))
        .map(([relation, names]) => [relation, this.#selectNames(relation, names)]),
    )
    // The names of hidden tables are reserved, so that a document means the same to every caller.
    this.#roots = new Namespace([...all.values()].map(({ table }) => table))
    this.#types = new Namespace([...[...all.values()].map(({ type }) => type), ...scalarNames])
    this.#columns = new ColumnTypes(this.#types)
    // Enums are named before the types of tables, whose order depends on the requests.
    for (const { columns, hidden } of this.#names.values()) {
      for (const { type } of [...columns.values(), ...hidden.values()])
        if (hasLabels(type)) this.#columns.find(type)
    }
    this.#shared = createSharedInputs(this.#types)
  }

  async build(): Promise<TableSchema> {
    const pace = new Pace()
    const queries: Fields = {}
    const mutations: Fields = {}
    const subscriptions: Fields = {}
    const mutationNames = new Namespace()
    for (const [relation, names] of this.#names) {
      if (pace.isDue) await pace.pause()
      if (!this.#mayRead(relation)) continue
      queries[names.table] = this.#listField(relation, { kind: 'list', relation }, names)
      const byKey = this.#byKeyField(relation)
      if (byKey !== undefined) this.#addRoot(queries, `${names.table}_by_pk`, byKey)
      const aggregate = this.#aggregateField(relation, { kind: 'aggregate', relation })
      if (aggregate !== undefined) this.#addRoot(queries, `${names.table}_aggregate`, aggregate)
      const facets = this.#facetsField(relation, names)
      if (facets !== undefined) this.#addRoot(queries, `${names.table}_facets`, facets)
      if (hasEvents(relation)) subscriptions[names.table] = this.#eventField(relation, names)
    }
    if (this.#caller.mayWrite) {
      for (const [relation, names] of this.#names) {
        if (pace.isDue) await pace.pause()
        this.#addMutations(mutations, mutationNames, relation, names)
      }
    }
    const functions = this.#functionFields()
    Object.assign(queries, functions.queries)
    Object.assign(mutations, functions.mutations)
    if (Object.keys(queries).length === 0) {
      queries._empty = { type: GraphQLString, extensions: { meaning: { kind: 'nothing' } } }
    }
    const query = this.#rootType('Query', queries)
    const mutation = Object.keys(mutations).length === 0 ? null : this.#rootType('Mutation', mutations)
    const names = new Map([...this.#names, ...functions.names])
    const subscription =
      Object.keys(subscriptions).length === 0 ? null : this.#rootType('Subscription', subscriptions)
    for (const type of [query, mutation, subscription]) {
      await pace.pause()
      type?.getFields()
    }
    await pace.pause()
    const schema = new LazySchema({ query, mutation, subscription }, (name) => this.#findTypes(name))
    return { schema, names }
  }

  /** Returns types that no root field names, or whose fields have them. */
  *#findTypes(name: string): Iterable<GraphQLNamedType> {
    const comparison = this.#shared.findComparison(name)
    if (comparison !== undefined) yield comparison
    yield* [intScalar, floatScalar, ...scalars, this.#shared.orderBy, ...this.#columns.enums()]
    if (this.#action !== undefined) yield this.#action
    if (this.#facet !== undefined) yield this.#facet
    for (let end = 1; end <= Math.min(name.length, pascalLimit); end += 1) {
      yield* this.#holders.get(name.slice(0, end)) ?? []
    }
  }

  /** Notes a type that leads to generated types beyond those of root fields. */
  #addHolder(pascal: string, type: GraphQLNamedType): void {
    const known = this.#holders.get(pascal)
    if (known === undefined) this.#holders.set(pascal, [type])
    else known.push(type)
  }

  #functionFields() {
    return createFunctionFields({
      catalog: this.#catalog,
      caller: this.#caller,
      types: this.#types,
      columns: this.#columns,
      namesOf: (relation) => (this.#mayRead(relation) ? this.#names.get(relation) : undefined),
      recordOf: (relation, names) => ({
        record: this.#typesOf(relation, names).record,
        args: this.#listArguments(relation, names),
      }),
    })
  }

  #rootType(wanted: string, fields: Fields): GraphQLObjectType {
    const name = this.#types.claim(wanted)
    return new GraphQLObjectType({ name, description: describeReplaced(wanted, name), fields })
  }

  /** Adds a generated root field, whose name a table may have. */
  #addRoot(fields: Fields, wanted: string, field: Field): void {
    const name = this.#roots.claim(wanted)
    fields[name] = { ...field, description: describeReplaced(wanted, name) ?? field.description }
  }

  /** Returns the names without the columns and relations that the caller may not read. */
  #selectNames(relation: Relation, names: TableNames): TableNames {
    const isFollowed = (relationship: Relationship) => this.#targetOf(relation, relationship) !== undefined
    const { reader } = this.#caller
    const isHidden = (column: Column) =>
      !maySelect(column, reader) &&
      (mayWriteColumn(column, reader, 'insert') || mayWriteColumn(column, reader, 'update'))
    return {
      ...names,
      columns: select(names.columns, (column) => maySelect(column, reader)),
      hidden: select(names.columns, isHidden),
      relationships: select(names.relationships, isFollowed),
      aggregates: select(names.aggregates, isFollowed),
    }
  }

  #isShown({ collection, rlsGap, ...relation }: Relation): boolean {
    const { reader, tables } = this.#caller
    if (tables?.has(collection) === false) return false
    if (reader !== 'unrestricted' && rlsGap !== undefined) return false
    const {
      select,
      insert,
      update,
      delete: remove,
    } = privilegesOf({ collection, rlsGap, ...relation }, reader)
    return select || insert || update || remove
  }

  #mayRead(relation: Relation): boolean {
    return privilegesOf(relation, this.#caller.reader).select && this.#columnsOf(relation).size > 0
  }

  #columnsOf(relation: Relation): ReadonlyMap<string, Column> {
    return this.#names.get(relation)?.columns ?? new Map()
  }

  #targetOf(relation: Relation, relationship: Relationship): Relation | undefined {
    const target = this.#catalog.relations.get(relationship.target)
    if (target === undefined || !this.#isShown(target)) return undefined
    return mayFollow(relation, relationship, target, this.#caller.reader) ? target : undefined
  }

  /** Returns the types of a table; their fields are made when the schema reads them, as tables refer to each other. */
  #typesOf(relation: Relation, names: TableNames): TableTypes {
    const known = this.#tables.get(relation)
    if (known !== undefined) return known
    const name = (suffix: string) => this.#types.claim(`${names.pascal}${suffix}`)
    const sortable = [...names.columns].filter(([, { type }]) => type.hasOrder)
    const types: TableTypes = {
      record: new LazyObjectType({
        name: names.type,
        description: describeTable(relation, names.type),
        fields: () => this.#recordFields(relation, names),
      }),
      where: this.#whereInput(name('WhereInput'), relation, names),
      orderBy:
        sortable.length === 0
          ? undefined
          : new LazyInputObjectType({
              name: name('OrderByInput'),
              fields: () => ({
                ...Object.fromEntries(sortable.map(([each]) => [each, { type: this.#shared.orderBy }])),
                ...this.#relatedOrders(relation, names),
              }),
            }),
      columns:
        sortable.length === 0
          ? undefined
          : new GraphQLEnumType({
              name: name('ColumnEnum'),
              values: () => Object.fromEntries(sortable.map(([each]) => [each, {}])),
            }),
      aggregate: this.#caller.hasAggregates ? this.#aggregateType(name('Aggregate'), names, name) : undefined,
    }
    this.#tables.set(relation, types)
    return types
  }

  /** Returns the orders of the related records that a record has at most one of. */
  #relatedOrders(relation: Relation, names: TableNames): GraphQLInputFieldConfigMap {
    const fields: GraphQLInputFieldConfigMap = {}
    for (const [name, relationship] of names.relationships) {
      if (relationship.kind !== 'many-to-one') continue
      const target = this.#targetOf(relation, relationship)
      const targetNames = target && this.#names.get(target)
      if (target === undefined || targetNames === undefined) continue
      const { orderBy } = this.#typesOf(target, targetNames)
      if (orderBy !== undefined) fields[name] = { type: orderBy }
    }
    return fields
  }

  #recordFields(relation: Relation, names: TableNames): Fields {
    const fields: Fields = {}
    for (const [name, column] of names.columns) {
      const { type, isText, renamed } = this.#columns.find(column.type)
      fields[name] = {
        type: column.nullable ? type : new GraphQLNonNull(type),
        description: describeColumn(column, name),
        extensions: { meaning: { kind: 'column', column, isText, renamed } },
      }
    }
    for (const { name, type, description } of computedFieldsOf(relation, names)) {
      // A column of this name takes precedence, and excludes the list that has the value.
      if (names.columns.has(name)) continue
      fields[name] = {
        type,
        description,
        extensions: { meaning: { kind: 'computed', name } },
      }
    }
    for (const [name, relationship] of names.relationships) {
      const field = this.#relatedField(relation, relationship)
      if (field !== undefined) fields[name] = field
    }
    for (const [name, relationship] of names.aggregates) {
      const target = this.#targetOf(relation, relationship)
      const field =
        target &&
        this.#aggregateField(target, { kind: 'relatedAggregate', relationship, from: relation, target })
      if (field !== undefined) fields[name] = field
    }
    return fields
  }

  #relatedField(from: Relation, relationship: Relationship): Field | undefined {
    const target = this.#targetOf(from, relationship)
    const names = target && this.#names.get(target)
    if (target === undefined || names === undefined) return undefined
    const description = relationship.comment
    if (relationship.kind === 'one-to-many') {
      const meaning = { kind: 'records', relationship, from, target } as const
      return { ...this.#listField(target, meaning, names), description }
    }
    const { record } = this.#typesOf(target, names)
    // A policy may hide the related record, and a row does not see itself while it is inserted.
    const isCertain =
      !target.rlsEnabled &&
      target !== from &&
      target.kind === 'table' &&
      relationship.pairs.every(({ from: name }) => from.column.get(name)?.nullable === false)
    return {
      type: isCertain ? new GraphQLNonNull(record) : record,
      description,
      extensions: { meaning: { kind: 'record', relationship, from, target } },
    }
  }

  /** Creates the field of a list: at the root, or of related records. */
  #listField(relation: Relation, meaning: FieldMeaning, names: TableNames): Field {
    const { record } = this.#typesOf(relation, names)
    const args = this.#listArguments(relation, names)
    if (meaning.kind === 'list') {
      Object.assign(args, this.#searchArguments(relation))
      if (hasGeometries(relation.columns)) {
        args.order_by_distance = {
          type: this.#shared.distanceOrder,
          description: 'Point: the nearest records come first, before `order_by`. They have `_distance`.',
        }
      }
      if (hasVectors(names)) Object.assign(args, this.#vectorArguments())
    }
    return {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(record))),
      description: meaning.kind === 'list' ? describeTable(relation, names.table) : undefined,
      args,
      extensions: { meaning },
    }
  }

  /** Returns the arguments beside `where` that say which records are found. */
  #searchArguments(relation: Relation): GraphQLFieldConfigArgumentMap {
    const args: GraphQLFieldConfigArgumentMap = {}
    if (hasGeometries(relation.columns)) {
      args.near = { type: this.#shared.near }
      args.within = { type: this.#shared.within }
      args.intersects = { type: this.#shared.intersects }
      args.bbox = { type: this.#shared.bbox }
    }
    args.search = { type: GraphQLString, description: 'Words to search for; see the guide "Search".' }
    args.fuzzy = { type: GraphQLBoolean, description: 'Tolerates typos in `search`.' }
    args.typo_threshold = {
      type: floatScalar,
      description: 'With `fuzzy`: trigram similarity that counts as a match, from 0 to 1; 0.2 unless given.',
    }
    return args
  }

  /** Creates the field that counts the values of columns among the records of a list. */
  #facetsField(relation: Relation, names: TableNames): Field | undefined {
    const { where, columns } = this.#typesOf(relation, names)
    if (columns === undefined || ![...names.columns.values()].some(isFacetable)) return undefined
    this.#facet ??= createFacetType(this.#types)
    return {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(this.#facet))),
      description: 'Counts the values of columns among the records that are found.',
      args: {
        columns: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(columns))) },
        disjunctive: {
          type: new GraphQLList(new GraphQLNonNull(columns)),
          description: 'Columns that are counted as if `where` did not choose among their values.',
        },
        where: { type: where },
        ...this.#searchArguments(relation),
      },
      extensions: { meaning: { kind: 'facets', relation } },
    }
  }

  #vectorArguments(): GraphQLFieldConfigArgumentMap {
    return {
      nearest: {
        type: new GraphQLList(new GraphQLNonNull(floatScalar)),
        description: 'Vector: the nearest records come first. They have `_distance`.',
      },
      semantic_query: { type: GraphQLString, description: 'Text in place of the vector of `nearest`.' },
      semantic: {
        type: GraphQLBoolean,
        description: 'Fuses the matches of `search` by words and by meaning, the best first.',
      },
      vector_column: {
        type: GraphQLString,
        description: 'Column to compare, where the table has several vectors.',
      },
      distance: { type: this.#shared.distance, description: '`cosine` unless given.' },
    }
  }

  /** Returns the arguments of every list of records. */
  #listArguments(relation: Relation, names: TableNames): GraphQLFieldConfigArgumentMap {
    const { where, orderBy, columns } = this.#typesOf(relation, names)
    const args: GraphQLFieldConfigArgumentMap = { where: { type: where } }
    if (orderBy !== undefined && columns !== undefined) {
      args.order_by = { type: new GraphQLList(new GraphQLNonNull(orderBy)) }
      args.distinct_on = {
        type: new GraphQLList(new GraphQLNonNull(columns)),
        description: 'Columns of which each combination of values appears once: the first record in order.',
      }
    }
    args.limit = { type: intScalar }
    args.offset = { type: intScalar }
    return args
  }

  #byKeyField(relation: Relation): Field | undefined {
    const names = this.#names.get(relation)
    const { primaryKey } = relation
    if (names === undefined || primaryKey.length === 0) return undefined
    const named = new Map([...names.columns].map(([name, column]) => [column, name]))
    const args: GraphQLFieldConfigArgumentMap = {}
    for (const column of primaryKey) {
      const name = named.get(column)
      if (name === undefined) return undefined
      args[name] = { type: new GraphQLNonNull(this.#columns.find(column.type).type) }
    }
    return {
      type: this.#typesOf(relation, names).record,
      args,
      extensions: { meaning: { kind: 'byKey', relation } },
    }
  }

  #aggregateField(relation: Relation, meaning: FieldMeaning): Field | undefined {
    const names = this.#names.get(relation)
    const { aggregate, where } = names === undefined ? {} : this.#typesOf(relation, names)
    if (aggregate === undefined || where === undefined) return undefined
    return { type: aggregate, args: { where: { type: where } }, extensions: { meaning } }
  }

  /** Creates the subscription to the changes of a table. */
  #eventField(relation: Relation, names: TableNames): Field {
    return {
      type: this.#eventType(names),
      description:
        'One change of a record after the other. Null: events before this one may be missing. Read the table again.',
      args: {
        where: {
          type: this.#typesOf(relation, names).where,
          description:
            'Conditions on columns that must all hold, with `_eq`, `_neq`, `_gt`, `_gte`, `_lt`, `_lte`, `_in` and `_and`.',
        },
      },
      extensions: { meaning: { kind: 'events', relation } },
    }
  }

  #eventType({ pascal, columns }: TableNames): GraphQLObjectType {
    this.#action ??= new GraphQLEnumType({
      name: this.#types.claim('EventActionEnum'),
      values: { create: {}, update: {}, delete: {} },
    })
    const action = this.#action
    return new LazyObjectType({
      name: this.#types.claim(`${pascal}Event`),
      description:
        'Changed record. A delete has the primary key alone, so every column may be null. Relations are not available in subscriptions.',
      fields: () => {
        const fields: Fields = {}
        for (const [name, column] of columns) {
          const { type, isText, renamed } = this.#columns.find(column.type)
          const meaning = { kind: 'column', column, isText, renamed } as const
          fields[name] = { type, description: describeColumn(column, name), extensions: { meaning } }
        }
        fields[new Namespace(columns.keys()).claim('_action')] = {
          type: new GraphQLNonNull(action),
          extensions: { meaning: { kind: 'action' } },
        }
        return fields
      },
    })
  }

  #aggregateType(
    typeName: string,
    { columns, pascal }: TableNames,
    name: (suffix: string) => string,
  ): GraphQLObjectType {
    const figures = (figure: FigureFunction, suffix: string): Field | undefined => {
      const fitting = [...columns].filter(([, { type }]) => isFigureOf(figure, type))
      if (fitting.length === 0) return undefined
      return {
        type: new LazyObjectType({
          name: name(suffix),
          fields: Object.fromEntries(
            fitting.map(([each, column]) => {
              const { type, isText } = figureTypeOf(figure, column, this.#columns)
              return [each, { type, extensions: { meaning: { kind: 'figure', column, isText } } }]
            }),
          ),
        }),
        extensions: { meaning: { kind: 'figures', function: figure } },
      }
    }
    const type = new LazyObjectType({
      name: typeName,
      fields: () => {
        const fields: Fields = {
          count: { type: new GraphQLNonNull(intScalar), extensions: { meaning: { kind: 'count' } } },
        }
        for (const [figure, suffix] of figureSuffixes) {
          const field = figures(figure, suffix)
          if (field !== undefined) fields[figure] = field
        }
        return fields
      },
    })
    this.#addHolder(pascal, type)
    return type
  }

  #whereInput(typeName: string, relation: Relation, names: TableNames): GraphQLInputObjectType {
    const input: GraphQLInputObjectType = new LazyInputObjectType({
      name: typeName,
      description: 'All conditions must hold.',
      fields: () => {
        const fields: GraphQLInputFieldConfigMap = {}
        for (const [name, { type }] of names.columns) {
          const { comparison } = this.#columns.find(type)
          if (comparison !== 'none') fields[name] = { type: this.#shared.comparisonOf(comparison) }
        }
        for (const [name, relationship] of names.relationships) {
          const target = this.#targetOf(relation, relationship)
          const targetNames = target && this.#names.get(target)
          if (target === undefined || targetNames === undefined) continue
          const { where } = this.#typesOf(target, targetNames)
          fields[name] = { type: where, description: 'A related record that meets the conditions exists.' }
        }
        const list = { type: new GraphQLList(new GraphQLNonNull(input)) }
        return { ...fields, _and: list, _or: list, _not: { type: input } }
      },
    })
    return input
  }

  #addMutations(mutations: Fields, taken: Namespace, relation: Relation, names: TableNames): void {
    if ((relation.kind !== 'table' && relation.kind !== 'partitioned_table') || relation.isOfExtension) return
    const privileges = privilegesOf(relation, this.#caller.reader)
    const response = this.#mayRead(relation) ? this.#mutationResponse(relation, names) : undefined
    if (response === undefined) return
    const type = response
    const where = { type: new GraphQLNonNull(this.#typesOf(relation, names).where) }
    if (privileges.insert) {
      const objects = this.#insertInput(names)
      if (objects !== undefined) {
        const conflict = this.#conflictInput(relation, names)
        mutations[taken.claim(`insert_${names.table}`)] = {
          type,
          args: {
            objects: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(objects))) },
            ...(conflict === undefined ? {} : { on_conflict: { type: conflict } }),
          },
          extensions: { meaning: { kind: 'insert', relation } },
        }
      }
    }
    const changes = this.#setInput(names)
    if (privileges.update && changes !== undefined) {
      const set = { type: changes }
      mutations[taken.claim(`update_${names.table}`)] = {
        type,
        args: { where, _set: set, _inc: set, _append: set, _prepend: set },
        extensions: { meaning: { kind: 'update', relation } },
      }
    }
    if (privileges.delete) {
      mutations[taken.claim(`delete_${names.table}`)] = {
        type,
        args: { where },
        extensions: { meaning: { kind: 'delete', relation } },
      }
    }
  }

  #mutationResponse(relation: Relation, names: TableNames): GraphQLObjectType {
    const { record } = this.#typesOf(relation, names)
    return new LazyObjectType({
      name: this.#types.claim(`${names.pascal}MutationResponse`),
      fields: () => ({
        affected_rows: {
          type: new GraphQLNonNull(intScalar),
          extensions: { meaning: { kind: 'affectedRows' } },
        },
        returning: {
          type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(record))),
          extensions: { meaning: { kind: 'returning' } },
        },
      }),
    })
  }

  /** Returns the columns of an input: the readable ones, and hidden ones with the privilege to write. */
  #writtenColumns({ columns, hidden }: TableNames, action: 'insert' | 'update') {
    const writable = [...hidden].filter(([, column]) => mayWriteColumn(column, this.#caller.reader, action))
    return [...columns, ...writable].filter(
      ([, { isGenerated, identity }]) => !isGenerated && identity !== 'always',
    )
  }

  #insertInput(names: TableNames): GraphQLInputObjectType | undefined {
    const { pascal } = names
    const written = this.#writtenColumns(names, 'insert')
    if (written.length === 0) return undefined
    return new LazyInputObjectType({
      name: this.#types.claim(`${pascal}InsertInput`),
      fields: () =>
        Object.fromEntries(
          written.map(([name, column]) => {
            const { type } = this.#columns.find(column.type)
            const isRequired =
              !column.nullable && column.default === undefined && column.identity === undefined
            return [
              name,
              {
                type: isRequired ? new GraphQLNonNull(type) : type,
                description: describeColumn(column, name),
              },
            ]
          }),
        ),
    })
  }

  #setInput(names: TableNames): GraphQLInputObjectType | undefined {
    const { pascal } = names
    const written = this.#writtenColumns(names, 'update')
    if (written.length === 0) return undefined
    return new LazyInputObjectType({
      name: this.#types.claim(`${pascal}SetInput`),
      fields: () =>
        Object.fromEntries(
          written.map(([name, column]) => [
            name,
            { type: this.#columns.find(column.type).type, description: describeColumn(column, name) },
          ]),
        ),
    })
  }

  #conflictInput(relation: Relation, { pascal }: TableNames): GraphQLInputObjectType | undefined {
    const constraints = conflictConstraints(relation, (column) => maySelect(column, this.#caller.reader))
    if (constraints.size === 0) return undefined
    const names = new Namespace()
    const values = [...constraints].map(([own, columns]) => {
      const name = names.claim(toValueName(own))
      return [name, { value: columns, description: describeRenamed('index', own, name) }] as const
    })
    const constraint = new GraphQLEnumType({
      name: this.#types.claim(`${pascal}ConstraintEnum`),
      values: Object.fromEntries(values),
    })
    const input = new LazyInputObjectType({
      name: this.#types.claim(`${pascal}OnConflictInput`),
      description:
        'Outcome for a row whose key exists: its `update_columns` are updated; without any, it stays as it is.',
      fields: {
        constraint: { type: new GraphQLNonNull(constraint) },
        update_columns: { type: new GraphQLList(new GraphQLNonNull(GraphQLString)) },
      },
    })
    this.#addHolder(pascal, input)
    return input
  }
}

/** Longer than the names of all tables: of schema and table 63 characters each. */
const pascalLimit = 160

function hasLabels({ enumLabels, element }: ColumnType): boolean {
  return enumLabels !== undefined || (element !== undefined && hasLabels(element))
}

function select<Item>(
  named: ReadonlyMap<string, Item>,
  isSelected: (item: Item) => boolean,
): ReadonlyMap<string, Item> {
  return new Map([...named].filter(([, item]) => isSelected(item)))
}

/** Value that some lists of a table have beside the columns. */
interface ComputedField {
  readonly name: string
  readonly type: GraphQLScalarType
  readonly description: string
}

const distanceField: ComputedField = {
  name: distanceName,
  type: floatScalar,
  description: 'Distance by which the list is sorted; null in other lists.',
}

const hybridFields: readonly ComputedField[] = [
  {
    name: hybridNames.score,
    type: floatScalar,
    description: 'Score of a search with `semantic`; null in other lists.',
  },
  {
    name: hybridNames.rank,
    type: floatScalar,
    description: 'Rank among the matches by words of a search with `semantic`; null without a match.',
  },
  {
    name: hybridNames.distance,
    type: floatScalar,
    description: 'Distance to the text of a search with `semantic`; null without a match by meaning.',
  },
]

const highlightFields: readonly ComputedField[] = [
  {
    name: '_highlight',
    type: GraphQLString,
    description: 'Excerpt as safe HTML with the matches of `search` marked; null in other lists.',
  },
  {
    name: '_highlightResult',
    type: jsonScalar,
    description:
      'Text of each searched column with its matches marked, by the name of the column in the database: `value` and `matchLevel`. Null in lists without `search`.',
  },
]

function computedFieldsOf(relation: Relation, names: TableNames): readonly ComputedField[] {
  const columns = [...names.columns.values()]
  const isByVector = hasVectors(names)
  const hasHighlights = isHighlightable(relation) && columns.some(isSearchable)
  return [
    ...(isByVector || hasGeometries(columns) ? [distanceField] : []),
    ...(isByVector ? hybridFields : []),
    ...(hasHighlights ? highlightFields : []),
  ]
}

function hasGeometries(columns: readonly Column[]): boolean {
  return columns.some(({ type }) => type.spatialSchema !== undefined)
}

/** Returns whether the caller may read a vector of the table. */
function hasVectors({ columns }: TableNames): boolean {
  return [...columns.values()].some(({ type }) => type.vectorSchema !== undefined)
}

/** Returns true if changes of the relation are logged. Views have no changes of their own. */
function hasEvents({ kind }: Relation): boolean {
  return kind === 'table' || kind === 'partitioned_table'
}

const figureSuffixes: readonly (readonly [FigureFunction, string])[] = [
  ['min', 'Min'],
  ['max', 'Max'],
  ['sum', 'Sum'],
  ['avg', 'Avg'],
]
