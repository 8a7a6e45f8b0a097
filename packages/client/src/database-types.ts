/** Database types as `basalt types` generates them: collections and procedures by name. */
export interface AnyDatabase {
  readonly tables: object
  readonly procedures: object
}

/** Database of a client without generated types: any collection with any columns. */
export interface UntypedDatabase {
  // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the columns
  tables: { [table: string]: UntypedTable<any> }
  // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the functions
  procedures: { [procedure: string]: { Args: any; Returns: any } }
}

interface UntypedTable<Value> {
  Row: { [column: string]: Value }
  Insert: { [column: string]: Value }
  Update: { [column: string]: Value }
  Key: [Value]
  Relations: { [relation: string]: { table: string; many: boolean } }
}

/** Name of a table or view. */
export type TableName<DB extends AnyDatabase> = keyof DB['tables'] & string

type Member<Type, Name extends string> = Type extends { [key in Name]: infer Value } ? Value : never

/** Row of a table, as the server returns it. */
export type RowOf<DB extends AnyDatabase, T extends TableName<DB>> = Member<DB['tables'][T], 'Row'>
/** Values of a new record. Columns with a default are optional. */
export type InsertOf<DB extends AnyDatabase, T extends TableName<DB>> = WithInherited<
  Member<DB['tables'][T], 'Insert'>
>
/** Changed values of a record. All columns are optional. */
export type UpdateOf<DB extends AnyDatabase, T extends TableName<DB>> = WithInherited<
  Member<DB['tables'][T], 'Update'>
>
type RelationsOf<DB extends AnyDatabase, T extends TableName<DB>> = Member<DB['tables'][T], 'Relations'>

type Inherited = typeof Object.prototype

/**
 * Type of the member that every object inherits under this name. The compiler sees an inherited `constructor` in `{}`, which is
 * not a column value.
 */
export type InheritedOf<Name> = Name extends keyof Inherited ? Inherited[Name] : never

/** Members of an insert or update. Optional members may be left out even if every object inherits a member of the same name. */
type WithInherited<Members> = [keyof Members & keyof Inherited] extends [never]
  ? Members
  : {
      [Name in keyof Members]: Members[Name] | (undefined extends Members[Name] ? InheritedOf<Name> : never)
    }

/** Primary key of a record: its value, or the list of values of a composite key in their order. */
export type KeyOf<DB extends AnyDatabase, T extends TableName<DB>> =
  Member<DB['tables'][T], 'Key'> extends infer Key ? (Key extends [infer Only] ? Only : Key) : never

/** Name of a column. */
export type ColumnOf<DB extends AnyDatabase, T extends TableName<DB>> = keyof RowOf<DB, T> & string

type TargetOf<DB extends AnyDatabase, T extends TableName<DB>, R extends keyof RelationsOf<DB, T>> = Member<
  RelationsOf<DB, T>[R],
  'table'
> &
  TableName<DB>

/** Related records to return with a record: `{ album: { artist: true } }`. */
export type ExpandOf<DB extends AnyDatabase, T extends TableName<DB>> = {
  readonly [R in keyof RelationsOf<DB, T>]?: true | ExpandOf<DB, TargetOf<DB, T, R>> | InheritedOf<R>
}

/** Record with the requested columns and related records. */
export type RecordOf<DB extends AnyDatabase, T extends TableName<DB>, Fields, Expand> = ([Fields] extends [
  readonly (infer Column)[],
]
  ? Pick<RowOf<DB, T>, Column & keyof RowOf<DB, T>>
  : RowOf<DB, T>) &
  ([keyof Expand] extends [never] ? unknown : { expand: ExpandedOf<DB, T, Expand> })

/**
 * Related records by relation. To-many relations are arrays. A relation is absent if it has no records or the policies hide
 * them.
 */
type ExpandedOf<DB extends AnyDatabase, T extends TableName<DB>, Expand> = {
  [R in keyof Expand & keyof RelationsOf<DB, T>]?: IsMany<DB, T, R> extends true
    ? RecordOf<DB, TargetOf<DB, T, R>, undefined, NestedOf<Expand[R]>>[]
    : RecordOf<DB, TargetOf<DB, T, R>, undefined, NestedOf<Expand[R]>>
}

type IsMany<DB extends AnyDatabase, T extends TableName<DB>, R extends keyof RelationsOf<DB, T>> = Member<
  RelationsOf<DB, T>[R],
  'many'
>

/** Name of a relation to one record. */
type ToOneOf<DB extends AnyDatabase, T extends TableName<DB>> = {
  [R in keyof RelationsOf<DB, T> & string]: IsMany<DB, T, R> extends true ? never : R
}[keyof RelationsOf<DB, T> & string]

/**
 * Column to sort by: one of the table, or one of a related record, such as `album.artist.name`. Names after the second
 * relation are not checked, because there may be too many of them for the compiler.
 */
export type SortColumnOf<DB extends AnyDatabase, T extends TableName<DB>> =
  | ColumnOf<DB, T>
  | {
      [R in ToOneOf<
        DB,
        T
      >]: `${R}.${ColumnOf<DB, TargetOf<DB, T, R>> | NestedColumnOf<DB, TargetOf<DB, T, R>>}`
    }[ToOneOf<DB, T>]

type NestedColumnOf<DB extends AnyDatabase, T extends TableName<DB>> = {
  [R in ToOneOf<DB, T>]: `${R}.${ColumnOf<DB, TargetOf<DB, T, R>> | `${string}.${string}`}`
}[ToOneOf<DB, T>]

type NestedOf<Expand> = Expand extends true ? NoExpand : Expand

// biome-ignore lint/complexity/noBannedTypes: an object without members expands nothing
export type NoExpand = {}

/** Name of a database function. */
export type ProcedureName<DB extends AnyDatabase> = keyof DB['procedures'] & string
/** Arguments of a database function, by name. */
export type ArgumentsOf<DB extends AnyDatabase, P extends ProcedureName<DB>> = WithInherited<
  Member<DB['procedures'][P], 'Args'>
>
/** Result of a database function. */
export type ReturnsOf<DB extends AnyDatabase, P extends ProcedureName<DB>> = Member<
  DB['procedures'][P],
  'Returns'
>
