import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  getLocation,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type ValueNode,
} from 'graphql'
import type { Catalog } from '../../../database/catalog/model.ts'
import { refuseWrite, requireWriteScope } from '../../../http/access/grants.ts'
import { AppError } from '../../../lib/errors.ts'
import { sliceArray, sliceObject } from '../../../lib/json-slices.ts'
import { Lru } from '../../../lib/lru.ts'
import {
  type Caller,
  type Collections,
  type CompiledReads,
  compileReads,
  type Reader,
  readerOf,
  runReads,
  runWrites,
  type WriteResult,
  withCatalog,
} from '../collections/index.ts'
import type { GraphqlConfig } from './config.ts'
import { Documents, findOperation, type PreparedDocument } from './document.ts'
import { graphqlErrors } from './errors.ts'
import { Introspection } from './introspection.ts'
import type { OperationLimits } from './limits.ts'
import { collectFields, type FieldContext, type SelectedField } from './plan/fields.ts'
import { planRead } from './plan/reads.ts'
import { planSubscription, type SubscriptionPlan } from './plan/subscription.ts'
import { Cost, type PlanTools } from './plan/tools.ts'
import { type PlannedWrite, planWrite } from './plan/writes.ts'
import type { GraphqlRequest } from './request.ts'
import { RequestErrors } from './request-errors.ts'
import { buildSchema, type SchemaReader, type TableSchema } from './schema/build.ts'

/** Schemas of one snapshot of the catalog for callers of all tables: one for each kind of caller. */
const schemaLimit = 8
/** Schemas of one snapshot for callers restricted to some tables. Such schemas are small. */
const restrictedSchemaLimit = 100
/** Queries that are remembered for a schema with their statement. */
const queryLimit = 1000
/** Subscriptions that are remembered for a schema. Those of one plan share what each event makes. */
const subscriptionLimit = 200
/** Longer queries are not worth remembering. */
const queryLengthLimit = 5000

interface CallerSchema extends TableSchema {
  readonly documents: Documents
  readonly queries: Lru<string, PlannedQuery>
  readonly subscriptions: Lru<string, SubscriptionPlan>
}

interface CachedSchemas {
  readonly whole: Lru<string, Promise<CallerSchema>>
  readonly restricted: Lru<string, Promise<CallerSchema>>
}

/** Query whose statement is compiled. */
interface PlannedQuery {
  readonly compiled: CompiledReads | undefined
  readonly isIntrospection: boolean
  /** Makes the response data. */
  readonly format: (results: readonly string[]) => string
}

/** Error of a document that does not fit the schema. */
const invalidDocument = 'invalid_graphql_document'
const unknownNames: ReadonlySet<string> = new Set([
  invalidDocument,
  'rls_required',
  'insufficient_permissions',
])

/** Runs GraphQL requests over the collections. Loaded with the first request. */
export class Engine {
  readonly #collections: Collections
  readonly #config: GraphqlConfig
  readonly #schemas = new WeakMap<Catalog, CachedSchemas>()
  readonly #introspection = new Introspection()

  constructor(collections: Collections, config: GraphqlConfig) {
    this.#collections = collections
    this.#config = config
  }

  /**
   * Runs one operation.
   *
   * @param isQueryOnly true for a request that must not change anything
   * @returns the JSON text of `data`, or the plan of a subscription
   * @throws RequestErrors for a request that is wrong
   * @throws AppError for everything else
   */
  async run(
    request: GraphqlRequest & { readonly query: string },
    caller: Caller,
    isQueryOnly: boolean,
  ): Promise<string | SubscriptionPlan> {
    try {
      return await withCatalog(
        this.#collections.catalog,
        (catalog) => this.#runOn(catalog, request, caller, isQueryOnly),
        unknownNames,
      )
    } catch (error) {
      if (error instanceof AppError && error.extras.cause instanceof RequestErrors) throw error.extras.cause
      throw error
    }
  }

  async #runOn(
    catalog: Catalog,
    request: GraphqlRequest & { readonly query: string },
    caller: Caller,
    isQueryOnly: boolean,
  ): Promise<string | SubscriptionPlan> {
    const found = await this.#schemaFor(catalog, schemaReaderOf(caller), caller.isAdministrator)
    const prepared = found.documents.prepare(request.query)
    const { document } = prepared
    if (document === undefined) throw refuse(prepared)
    const operation = requesting(() => findOperation(document, request.operationName))
    const isMutation = operation.operation === 'mutation'
    if (isMutation && isQueryOnly) throw graphqlErrors.mutationByGet().with({ headers: { allow: 'POST' } })
    if (isMutation) requireWriteScope(caller.scope)
    if (prepared.errors.length > 0) throw refuse(prepared)
    const { isAdministrator } = caller
    const call = {
      catalog,
      reader: readerOf(caller),
      isAdministrator,
      request,
      prepared,
      document,
      operation,
    }
    if (operation.operation === 'subscription') return this.#planSubscription(found, call)
    return isMutation
      ? await this.#runMutation(found, call, caller)
      : await this.#runQuery(found, call, caller)
  }

  #planSubscription(found: CallerSchema, call: OperationCall): SubscriptionPlan {
    const key = keyOf(call)
    const known = found.subscriptions.get(key)
    if (known !== undefined) return known
    const fields = fieldContext(found.schema, call)
    const [root, ...others] = rootFields(fields, call.operation)
    if (root?.meaning?.kind !== 'events' || others.length > 0) {
      throw new RequestErrors([
        new GraphQLError('A subscription must select exactly one table.', { nodes: call.operation }),
      ])
    }
    const { relation } = root.meaning
    const plan = locating(root, () =>
      planSubscription(this.#tools(found, fields, call, false), relation, root),
    )
    if (key.length <= queryLengthLimit) found.subscriptions.set(key, plan)
    return plan
  }

  async #runQuery(found: CallerSchema, call: OperationCall, caller: Caller): Promise<string> {
    const { searches } = this.#collections
    const key = `${searches.version} ${keyOf(call)}`
    let planned = found.queries.get(key)
    if (planned === undefined) {
      const made = await this.#planQuery(found, call)
      planned = made
      // The text of introspection is long.
      if (key.length <= queryLengthLimit && !made.isIntrospection) found.queries.set(key, planned)
    }
    const { compiled, format } = planned
    return format(compiled === undefined ? [] : await runReads(this.#collections, caller, compiled))
  }

  async #planQuery(found: CallerSchema, call: OperationCall): Promise<PlannedQuery> {
    const fields = fieldContext(found.schema, call)
    const roots = rootFields(fields, call.operation)
    const planAll = (isDirect: boolean) => {
      const tools = this.#tools(found, fields, call, isDirect)
      return roots.map((field) => locating(field, () => planRead(tools, field)))
    }
    const planned = planAll(false)
    const values = await this.#answerOthers(found, roots, planned, call)
    const reads = planned.filter((read) => read !== undefined)
    return {
      isIntrospection: roots.some(isIntrospection),
      compiled:
        reads.length === 0
          ? undefined
          : compileReads(this.#collections, reads, () => planAll(true).filter((read) => read !== undefined)),
      format(results) {
        let position = 0
        return formatData(roots, (_, index) => values[index] ?? results[position++] ?? 'null')
      },
    }
  }

  async #runMutation(found: CallerSchema, call: OperationCall, caller: Caller): Promise<string> {
    const fields = fieldContext(found.schema, call)
    const roots = rootFields(fields, call.operation)
    const tools = this.#tools(found, fields, call, false)
    const { bulkLimit } = this.#collections
    const planned = roots.map((field) => locating(field, () => planWrite(tools, field, bulkLimit)))
    const values = await this.#answerOthers(found, roots, planned, call)
    const writes = planned.filter((write) => write !== undefined)
    const format = (results: readonly WriteResult[]) => {
      let position = 0
      return formatData(roots, (_, index) => {
        const write = planned[index]
        const result = write === undefined ? undefined : results[position++]
        return write === undefined || result === undefined
          ? (values[index] ?? 'null')
          : formatWrite(write, result)
      })
    }
    try {
      const all = writes.map(({ write }) => write)
      return await runWrites(this.#collections, caller, all, format)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const position = error.extras.members?.field
      const write = typeof position === 'number' ? writes[position] : undefined
      const field = roots[planned.indexOf(write)]
      throw field === undefined ? error : locate(error, field)
    }
  }

  #tools(found: CallerSchema, fields: FieldContext, call: OperationCall, isDirect: boolean): PlanTools {
    const { searches, limits, embedder } = this.#collections
    return {
      catalog: call.catalog,
      reader: call.reader,
      searches,
      language: searches.config,
      limits,
      embedder,
      names: found.names,
      fields,
      cost: new Cost(this.#config.max_cost),
      isDirect,
    }
  }

  /** Returns the JSON texts of the fields that are not planned. */
  async #answerOthers(
    found: CallerSchema,
    roots: readonly SelectedField[],
    planned: readonly unknown[],
    call: OperationCall,
  ): Promise<readonly (string | undefined)[]> {
    const values: (string | undefined)[] = []
    for (const [index, field] of roots.entries()) {
      values.push(planned[index] === undefined ? await this.#answerItself(found, field, call) : undefined)
    }
    return values
  }

  /** Returns the JSON text of `__typename`, `__schema` or `__type`. */
  async #answerItself(found: CallerSchema, field: SelectedField, call: OperationCall): Promise<string> {
    const { schema } = found
    if (field.name === '__typename') {
      return JSON.stringify(schema.getRootType(call.operation.operation)?.name ?? null)
    }
    if (!isIntrospection(field)) return 'null'
    const introspected = (await this.#introspectedSchema(call)) ?? schema
    const { document, operation, request } = call
    return await this.#introspection.run({
      schema: introspected,
      document: {
        ...document,
        definitions: [
          { ...operation, selectionSet: { kind: Kind.SELECTION_SET, selections: field.nodes } },
          ...document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION),
        ],
      },
      variables: request.variables,
      key: field.key,
      isWhole: field.name === '__schema',
    })
  }

  /**
   * Returns the schema that introspection shows in place of the caller's.
   *
   * @throws AppError introspection_refused, introspection_disabled
   */
  async #introspectedSchema({ catalog, isAdministrator }: OperationCall): Promise<GraphQLSchema | undefined> {
    switch (this.#config.introspection) {
      case 'disabled':
        throw graphqlErrors.introspectionDisabled()
      case 'admin':
        if (!isAdministrator) throw graphqlErrors.introspectionRefused()
        return undefined
      case 'open':
        return (await this.#schemaFor(catalog, { reader: 'unrestricted', mayWrite: true, tables: undefined }))
          .schema
      default:
        return undefined
    }
  }

  async #schemaFor(
    catalog: Catalog,
    reader: Omit<SchemaReader, 'hasAggregates'>,
    isAdministrator = false,
  ): Promise<CallerSchema> {
    let cached = this.#schemas.get(catalog)
    if (cached === undefined) {
      cached = { whole: new Lru(schemaLimit), restricted: new Lru(restrictedSchemaLimit) }
      this.#schemas.set(catalog, cached)
    }
    const schemas = reader.tables === undefined ? cached.whole : cached.restricted
    const tables = reader.tables === undefined ? '' : JSON.stringify([...reader.tables].sort())
    const key = `${reader.reader} ${reader.mayWrite} ${isAdministrator} ${tables}`
    const known = schemas.get(key)
    if (known !== undefined) return known
    const { aggregateEnabled: hasAggregates } = this.#collections.limits
    const made = buildSchema(catalog, { ...reader, hasAggregates }).then((built) => ({
      ...built,
      documents: new Documents(built.schema, operationLimits(this.#config)),
      queries: new Lru<string, PlannedQuery>(queryLimit),
      subscriptions: new Lru<string, SubscriptionPlan>(subscriptionLimit),
    }))
    schemas.set(key, made)
    return await made
  }
}

/** One operation of a request. A remembered query refers to it, so it has nothing of the connection. */
interface OperationCall {
  readonly catalog: Catalog
  readonly reader: Reader
  readonly isAdministrator: boolean
  readonly request: GraphqlRequest
  readonly prepared: PreparedDocument
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
}

/** Returns a text that is equal for operations with equal results on one schema. */
function keyOf({ request, prepared }: OperationCall): string {
  return `${request.operationName ?? ''} ${JSON.stringify(request.variables)} ${prepared.text}`
}

function schemaReaderOf({ scope }: Caller): Omit<SchemaReader, 'hasAggregates'> {
  const grant = scope.kind === 'caller' ? scope.grant : undefined
  return { reader: scope.kind, mayWrite: refuseWrite(scope) === undefined, tables: grant?.tables }
}

function operationLimits(config: GraphqlConfig): OperationLimits {
  return {
    depth: config.max_depth,
    rootFields: config.max_root_fields,
    aliases: config.max_aliases,
  }
}

/** Returns the error of the document. */
function refuse({ errors, isSchemaFault }: PreparedDocument): Error {
  return isSchemaFault ? refusal(errors) : new RequestErrors(errors)
}

/** Returns the error of a document that the schema does not fit. The catalog is read once more before it is sent. */
function refusal(errors: readonly GraphQLError[]): AppError {
  const cause = new RequestErrors(errors)
  return new AppError(invalidDocument, 400, cause.message, { cause })
}

/** @throws RequestErrors for variables that cannot be coerced */
function fieldContext(schema: GraphQLSchema, { document, operation, request }: OperationCall): FieldContext {
  const { coerced, errors } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    request.variables,
    { maxErrors: 20 },
  )
  if (errors !== undefined) throw new RequestErrors(errors)
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const defaults = new Map<string, ValueNode>()
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    if (defaultValue !== undefined) defaults.set(variable.name.value, defaultValue)
  }
  return { schema, fragments, variables: coerced, sentVariables: request.variables, defaults }
}

/** @throws AppError invalid_graphql_document for a mutation where nothing can be written */
function rootFields(fields: FieldContext, { operation, selectionSet }: OperationDefinitionNode) {
  const type = fields.schema.getRootType(operation)
  if (type == null) {
    throw refusal([new GraphQLError(`Schema is not configured to execute ${operation} operation.`)])
  }
  return requesting(() => collectFields(fields, type, [selectionSet]))
}

function isIntrospection({ name }: SelectedField): boolean {
  return name === '__schema' || name === '__type'
}

/** Runs the work; a GraphQL error in it is one of the request. */
function requesting<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof GraphQLError ? new RequestErrors([error]) : error
  }
}

/** Runs the work; errors in it get the path of the field. */
function locating<Result>(field: SelectedField, work: () => Result): Result {
  try {
    return requesting(work)
  } catch (error) {
    throw error instanceof AppError ? locate(error, field) : error
  }
}

/** Adds the path and the location of a field to an error. */
function locate(error: AppError, { key, nodes }: SelectedField): AppError {
  const locations = nodes.flatMap(({ loc }) =>
    loc === undefined ? [] : [getLocation(loc.source, loc.start)],
  )
  return error.with({ members: { path: [key], locations } })
}

function formatData(
  roots: readonly SelectedField[],
  format: (field: SelectedField, index: number) => string,
): string {
  const members = roots.map((field, index) => `${JSON.stringify(field.key)}:${format(field, index)}`)
  return `{${members.join()}}`
}

/** Formats the response of a write. With several `returning`, each record holds one member for each of them. */
function formatWrite({ write, selected, typeName }: PlannedWrite, { count, records }: WriteResult): string {
  if (write.kind === 'call') return records[0] ?? 'null'
  const returning = selected.filter(({ meaning }) => meaning?.kind === 'returning')
  const parts = `[${records.join()}]`
  const rows = returning.length > 1 ? sliceArray(parts).map(sliceObject) : []
  const members = selected.map(({ key, meaning }) => {
    const name = JSON.stringify(key)
    if (meaning?.kind === 'affectedRows') return `${name}:${count}`
    if (meaning?.kind !== 'returning') return `${name}:${JSON.stringify(typeName)}`
    return `${name}:${returning.length > 1 ? `[${rows.map((row) => row.get(key) ?? 'null').join()}]` : parts}`
  })
  return `{${members.join()}}`
}
