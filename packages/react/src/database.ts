import type { AnyDatabase, ColumnOf, TableName, UntypedDatabase } from '@basaltdb/client'
import type { Register } from './index.ts'

/** The database that the application has registered; any tables and columns where it has not. */
export type RegisteredDatabase = Register extends { database: infer DB extends AnyDatabase }
  ? DB
  : UntypedDatabase

export type Table = TableName<RegisteredDatabase>

export type Columns<T extends Table> = readonly ColumnOf<RegisteredDatabase, T>[]
