import type {
  AnyDatabase,
  ArgumentsOf,
  ColumnOf,
  FunctionAddress,
  FunctionCall,
  FunctionOutput,
  ProcedureName,
  ReturnsOf,
  TableName,
  UntypedDatabase,
} from '@basaltdb/client'
import type { Register } from './index.ts'

/** Database that the application registered, or any tables and columns if it registered none. */
export type RegisteredDatabase = Register extends { database: infer DB extends AnyDatabase }
  ? DB
  : UntypedDatabase

export type Table = TableName<RegisteredDatabase>

export type Columns<T extends Table> = readonly ColumnOf<RegisteredDatabase, T>[]

export type Procedure = ProcedureName<RegisteredDatabase>
export type Arguments<P extends Procedure> = ArgumentsOf<RegisteredDatabase, P>
export type Returns<P extends Procedure> = ReturnsOf<RegisteredDatabase, P>

/** Method and path of a function of the project. */
export type Address = FunctionAddress<RegisteredDatabase>
/** Address of a function that reads. */
export type ReadAddress = Extract<Address, `GET ${string}`>
/** Parameters, input and options of a call of a function. */
export type CallOf<A extends Address> = FunctionCall<RegisteredDatabase, A>
export type OutputOf<A extends Address> = FunctionOutput<RegisteredDatabase, A>
