import { type Operation, type Operations, operations, type ResultsOf, sendBatch } from './batch.ts'
import { type Collection, createCollection } from './collection.ts'
import type {
  AnyDatabase,
  ArgumentsOf,
  ProcedureName,
  ReturnsOf,
  TableName,
  UntypedDatabase,
} from './database-types.ts'
import { createFunctions, type Functions } from './functions.ts'
import {
  type GraphqlArguments,
  type GraphqlDocument,
  type GraphqlOptions,
  sendGraphql,
  type TypedGraphqlDocument,
} from './graphql.ts'
import {
  createTransport,
  pathSegment,
  type Transport,
  type TransportOptions,
  type WriteOptions,
} from './transport.ts'

/** Options of {@link createClient}. */
export type ClientOptions = TransportOptions

/** Options of a call of a database function. */
export interface RpcOptions extends WriteOptions {
  /** True if the function only reads. The server then stores no idempotency key for the call. */
  readonly readOnly?: boolean | undefined
}

/** Client of one backend. `Database` is the type that `basalt types` generates. */
export interface Client<DB extends AnyDatabase = UntypedDatabase> {
  /** Returns the collection of a table or view. Tables outside the schema `public` are named `schema.table`. */
  from<T extends TableName<DB>>(table: T): Collection<DB, T>
  /**
   * Calls a database function and returns its result.
   * @throws BasaltError with the error of the server
   */
  rpc<P extends ProcedureName<DB>>(
    procedure: P,
    args: ArgumentsOf<DB, P>,
    options?: RpcOptions,
  ): Promise<ReturnsOf<DB, P>>
  /**
   * Runs up to 1000 operations on any tables in one transaction. Either all of them succeed or none. Returns the result of each
   * operation, in their order.
   *
   * @throws BasaltError with the failed operation as `operation`
   */
  batch<const Batch extends readonly Operation<unknown>[]>(
    make: (operations: Operations<DB>) => Batch,
    options?: WriteOptions,
  ): Promise<ResultsOf<Batch>>
  /**
   * Runs a GraphQL operation and returns its data. Documents of graphql-codegen have the types of their result and variables.
   *
   * @throws BasaltError with all errors of the response as `errors`
   */
  graphql<Result, Variables>(
    document: TypedGraphqlDocument<Result, Variables>,
    ...args: GraphqlArguments<Variables>
  ): Promise<Result>
  // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the fields
  graphql<Result = Record<string, any>>(
    document: GraphqlDocument,
    variables?: object | undefined,
    options?: GraphqlOptions,
  ): Promise<Result>
  /** Functions of the project. */
  readonly functions: Functions<DB>
  /** Low-level transport, for endpoints without a method here. */
  readonly transport: Transport
}

/**
 * Creates a client. It opens no connection: the first request does.
 *
 * @throws TypeError if an option is invalid
 */
export function createClient<DB extends AnyDatabase = UntypedDatabase>(options: ClientOptions): Client<DB> {
  const transport = createTransport(options)
  return {
    transport,
    functions: createFunctions<DB>(transport),
    from: (table) => createCollection<DB, typeof table>(transport, table),
    async rpc(procedure, args, { readOnly = false, ...writeOptions } = {}) {
      const path = `rpc/${pathSegment(procedure)}`
      const detail = { ...writeOptions, body: args ?? {} }
      const result = await (readOnly
        ? transport.request('POST', path, { ...detail, isRepeatable: true })
        : transport.write('POST', path, detail))
      // The generated types describe the result of the function.
      return result as ReturnsOf<DB, typeof procedure>
    },
    async batch<const Batch extends readonly Operation<unknown>[]>(
      make: (each: Operations<DB>) => Batch,
      writeOptions: WriteOptions = {},
    ) {
      const batch = make(operations as unknown as Operations<DB>)
      // The server returns one result for each operation, in their order.
      return (await sendBatch(transport, batch, writeOptions)) as ResultsOf<Batch>
    },
    graphql: async <Result>(
      document: object | string,
      variables?: unknown,
      graphqlOptions?: GraphqlOptions,
    ) =>
      // The generated types describe the data of the document.
      (await sendGraphql(transport, document, variables, graphqlOptions)) as Result,
  }
}
