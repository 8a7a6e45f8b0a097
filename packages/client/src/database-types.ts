/** What `basalt types` makes: collections and procedures by name. */
export interface AnyDatabase {
  readonly tables: object
  readonly procedures: object
}

/** Of a client without types of a database: any collection, any column. */
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

export type TableName<DB extends AnyDatabase> = keyof DB['tables'] & string

type Member<Type, Name extends string> = Type extends { [key in Name]: infer Value } ? Value : never

export type RowOf<DB extends AnyDatabase, T extends TableName<DB>> = Member<DB['tables'][T], 'Row'>
export type InsertOf<DB extends AnyDatabase, T extends TableName<DB>> = WithInherited<
  Member<DB['tables'][T], 'Insert'>
>
export type UpdateOf<DB extends AnyDatabase, T extends TableName<DB>> = WithInherited<
  Member<DB['tables'][T], 'Update'>
>
type RelationsOf<DB extends AnyDatabase, T extends TableName<DB>> = Member<DB['tables'][T], 'Relations'>

type Inherited = typeof Object.prototype

/** What every object inherits under this name: to the compiler `{}` has a `constructor`, which is no text. */
export type InheritedOf<Name> = Name extends keyof Inherited ? Inherited[Name] : never

/** Members that are optional may be left out whatever their name is. */
type WithInherited<Members> = [keyof Members & keyof Inherited] extends [never]
  ? Members
  : {
      [Name in keyof Members]: Members[Name] | (undefined extends Members[Name] ? InheritedOf<Name> : never)
    }

/** The primary key of a record: its value, or the values of a composite one in their order. */
export type KeyOf<DB extends AnyDatabase, T extends TableName<DB>> =
  Member<DB['tables'][T], 'Key'> extends infer Key ? (Key extends [infer Only] ? Only : Key) : never

export type ColumnOf<DB extends AnyDatabase, T extends TableName<DB>> = keyof RowOf<DB, T> & string

type TargetOf<DB extends AnyDatabase, T extends TableName<DB>, R extends keyof RelationsOf<DB, T>> = Member<
  RelationsOf<DB, T>[R],
  'table'
> &
  TableName<DB>

/** Which related records come with a record: `{ album: { artist: true } }`. */
export type ExpandOf<DB extends AnyDatabase, T extends TableName<DB>> = {
  readonly [R in keyof RelationsOf<DB, T>]?: true | ExpandOf<DB, TargetOf<DB, T, R>> | InheritedOf<R>
}

/** A record with the columns and related records that were asked for. */
export type RecordOf<DB extends AnyDatabase, T extends TableName<DB>, Fields, Expand> = ([Fields] extends [
  readonly (infer Column)[],
]
  ? Pick<RowOf<DB, T>, Column & keyof RowOf<DB, T>>
  : RowOf<DB, T>) &
  ([keyof Expand] extends [never] ? unknown : { expand: ExpandedOf<DB, T, Expand> })

/** Records that are many are an array. What is empty, or shown by no policy, is absent. */
type ExpandedOf<DB extends AnyDatabase, T extends TableName<DB>, Expand> = {
  [R in keyof Expand & keyof RelationsOf<DB, T>]?: IsMany<DB, T, R> extends true
    ? RecordOf<DB, TargetOf<DB, T, R>, undefined, NestedOf<Expand[R]>>[]
    : RecordOf<DB, TargetOf<DB, T, R>, undefined, NestedOf<Expand[R]>>
}

type IsMany<DB extends AnyDatabase, T extends TableName<DB>, R extends keyof RelationsOf<DB, T>> = Member<
  RelationsOf<DB, T>[R],
  'many'
>

type NestedOf<Expand> = Expand extends true ? NoExpand : Expand

// biome-ignore lint/complexity/noBannedTypes: an object without members is what expands nothing
export type NoExpand = {}

export type ProcedureName<DB extends AnyDatabase> = keyof DB['procedures'] & string
export type ArgumentsOf<DB extends AnyDatabase, P extends ProcedureName<DB>> = WithInherited<
  Member<DB['procedures'][P], 'Args'>
>
export type ReturnsOf<DB extends AnyDatabase, P extends ProcedureName<DB>> = Member<
  DB['procedures'][P],
  'Returns'
>
