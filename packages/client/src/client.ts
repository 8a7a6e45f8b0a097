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
import {
  createTransport,
  pathSegment,
  type Transport,
  type TransportOptions,
  type WriteOptions,
} from './transport.ts'

/** Options of {@link createClient}. */
export type ClientOptions = TransportOptions

/** A backend. `Database` is what `basalt types` has made. */
export interface Client<DB extends AnyDatabase = UntypedDatabase> {
  /** A table or view; outside `public` as `schema.table`. */
  from<T extends TableName<DB>>(table: T): Collection<DB, T>
  /** Calls a function of the database. */
  rpc<P extends ProcedureName<DB>>(
    procedure: P,
    args: ArgumentsOf<DB, P>,
    options?: WriteOptions,
  ): Promise<ReturnsOf<DB, P>>
  /**
   * Up to 1000 operations on any tables in one transaction, all or none; answers what each has answered.
   *
   * @throws BasaltError with the `operation` that failed
   */
  batch<const Batch extends readonly Operation<unknown>[]>(
    make: (operations: Operations<DB>) => Batch,
    options?: WriteOptions,
  ): Promise<ResultsOf<Batch>>
  /** For requests that have no method here. */
  readonly transport: Transport
}

export function createClient<DB extends AnyDatabase = UntypedDatabase>(options: ClientOptions): Client<DB> {
  const transport = createTransport(options)
  return {
    transport,
    from: (table) => createCollection<DB, typeof table>(transport, table),
    rpc: async (procedure, args, writeOptions = {}) =>
      // The types say what the function answers.
      (await transport.write('POST', `rpc/${pathSegment(procedure)}`, {
        ...writeOptions,
        body: args ?? {},
      })) as ReturnsOf<DB, typeof procedure>,
    async batch<const Batch extends readonly Operation<unknown>[]>(
      make: (each: Operations<DB>) => Batch,
      writeOptions: WriteOptions = {},
    ) {
      const batch = make(operations as unknown as Operations<DB>)
      // One result for each operation, in their order.
      return (await sendBatch(transport, batch, writeOptions)) as ResultsOf<Batch>
    },
  }
}
