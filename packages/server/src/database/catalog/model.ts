import type { Expression, TypeName } from '../sql.ts'

/** The catalog as the rest of Basalt sees it: one frozen snapshot of what the exposed schemas hold. */
export interface Catalog {
  /** Changes with every definition in it. */
  readonly fingerprint: string
  readonly builtAt: Date
  readonly schemas: readonly string[]
  /** By collection name: `track`, or `shop.track` outside `public`. */
  readonly relations: ReadonlyMap<string, Relation>
  /** Partitions that are served through their table alone, by the name they would have. */
  readonly partitions: ReadonlyMap<string, Relation>
  /** Our own, which are no collections and have policies of the operator: `basalt.objects`. */
  readonly systemRelations: ReadonlyMap<string, Relation>
  readonly functions: readonly DatabaseFunction[]
  /** Overloads by {@link DatabaseFunction.procedure}. */
  readonly procedures: ReadonlyMap<string, readonly DatabaseFunction[]>
  /** Version by name. */
  readonly extensions: ReadonlyMap<string, string>
  /** By the name of an extension, the schema of its types, functions and operators. */
  readonly extensionSchemas: ReadonlyMap<string, string>
}

export type RelationKind = 'table' | 'partitioned_table' | 'view' | 'materialized_view' | 'foreign_table'

export interface Relation {
  /** What stays when it is renamed. */
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** How the API addresses it. */
  readonly collection: string
  readonly kind: RelationKind
  readonly comment: string | undefined
  readonly rlsEnabled: boolean
  /** Whether tables inherit from it: their rows are among its own, and its keys do not hold for them. */
  readonly hasDescendants: boolean
  /** Of a partition, the collection of the table that it is part of, where that is served. */
  readonly partitionOf: string | undefined
  /** Whether an extension made it, such as `spatial_ref_sys` of PostGIS: callers read it at most. */
  readonly isOfExtension: boolean
  /**
   * With `database.require_rls`, what callers would read past row-level security; it keeps the relation from them.
   * Undefined where there is nothing of the kind, and without the setting.
   */
  readonly rlsGap: RlsGap | undefined
  /** Whether its policies do not apply to the login role. */
  readonly isBypassed: boolean
  /** What `basalt_authenticated` may do, on at least one column; policies decide on rows. */
  readonly callers: Privileges
  /** Whether callers may read all columns, the system columns with them. */
  readonly callersMayReadSystemColumns: boolean
  /** What `basalt_anonymous` may do, by grants of its own. */
  readonly anonymous: Privileges
  /** Whether requests without a token may read all columns, the system columns with them. */
  readonly anonymousMayReadSystemColumns: boolean
  /** Changes with the relation itself and with the columns and types that a prepared statement on it relies on. */
  readonly version: string
  /** In table order. */
  readonly columns: readonly Column[]
  readonly column: ReadonlyMap<string, Column>
  /** Empty when there is none. */
  readonly primaryKey: readonly Column[]
  /** Columns whose values tell any two rows apart: the primary key, else a unique key without NULLs. */
  readonly rowKey: readonly Column[]
  readonly uniqueKeys: readonly Key[]
  /** The columns of every unique index that holds at all times and for all rows: what `on conflict` can name. */
  readonly conflictKeys: readonly (readonly Column[])[]
  readonly checks: readonly Check[]
  readonly foreignKeys: readonly ForeignKey[]
  /** By the name it has in `expand`. */
  readonly relationships: ReadonlyMap<string, Relationship>
  readonly indexes: readonly Index[]
  readonly policies: readonly Policy[]
}

export type Privileges = Readonly<Record<'select' | 'insert' | 'update' | 'delete', boolean>>

/** A relation without row-level security: the one asked for, or one that a view reads. */
export interface RlsGap {
  readonly schema: string
  readonly name: string
  readonly kind: RelationKind
}

export interface Column {
  readonly name: string
  readonly position: number
  readonly type: ColumnType
  /** With length and precision: `character varying(160)`. */
  readonly typeName: TypeName
  readonly nullable: boolean
  /** SQL of the default. */
  readonly default: string | undefined
  /** `always` cannot be written by a caller. */
  readonly identity: 'always' | 'by default' | undefined
  /** Computed from other columns; cannot be written. */
  readonly isGenerated: boolean
  readonly comment: string | undefined
  /** Whether callers may read it. */
  readonly callersMaySelect: boolean
  /** Whether requests without a token may read it. */
  readonly anonymousMaySelect: boolean
}

export interface ColumnType {
  /** `integer`, `character varying`, `shop.colour`. */
  readonly name: TypeName
  /** The type behind a domain, or the type itself: `int4`, `jsonb`, `citext`. */
  readonly base: string
  /** What an array holds; undefined when it is none. */
  readonly element: ColumnType | undefined
  /** What a composite type is made of; undefined when it is none. */
  readonly attributes: readonly Attribute[] | undefined
  /** Whether it is a range or holds several; undefined for every other type. */
  readonly range: 'range' | 'multirange' | undefined
  /** Schema of the extension whose type it is, PostGIS, where its functions are; undefined for every other type. */
  readonly spatialSchema: string | undefined
  /** Schema of pgvector for a type of its own, where its operators are; undefined for every other type. */
  readonly vectorSchema: string | undefined
  /** Whether it holds text, so that LIKE applies: text, varchar, char, name, citext and domains over them. */
  readonly isText: boolean
  /** Whether `=` applies to it. */
  readonly hasEquality: boolean
  /** Whether it can be sorted and compared by `<`. */
  readonly hasOrder: boolean
  /** True if it is a domain that refuses NULL, or is made of one. */
  readonly isNotNull: boolean
  /** SQL of the default that a column of this domain has without one of its own. */
  readonly default: string | undefined
  /** Its operators outside pg_catalog, which a search path need not lead to. */
  readonly operators:
    | Readonly<Partial<Record<OwnOperator, readonly [schema: string, name: string]>>>
    | undefined
  /** How values look in JSON. */
  readonly json: 'boolean' | 'integer' | 'number' | 'string' | 'object' | 'array'
  readonly enumLabels: readonly string[] | undefined
}

/** `~~` is LIKE. What negates them is not needed. */
export type OwnOperator = '=' | '<' | '<=' | '>' | '>=' | '~~'

export interface Attribute {
  readonly name: string
  /** With length and precision: `character varying(160)`. */
  readonly typeName: TypeName
  readonly type: ColumnType
}

export interface Key {
  readonly name: string
  readonly columns: readonly string[]
}

export interface Check {
  readonly name: string
  readonly definition: string
}

export interface ForeignKey {
  readonly name: string
  readonly columns: readonly string[]
  readonly referencedSchema: string
  readonly referencedTable: string
  readonly referencedColumns: readonly string[]
  readonly onUpdate: string
  readonly onDelete: string
}

/** A foreign key seen from one of its two sides. */
export interface Relationship {
  /** The name in `expand`. */
  readonly name: string
  readonly kind: 'many-to-one' | 'one-to-many'
  readonly constraint: string
  /** On the constraint; it may name the relation (`@name author`). */
  readonly comment: string | undefined
  /** Collection at the other side; look it up in the same snapshot. */
  readonly target: string
  /** Pairs of (column here, column there). */
  readonly pairs: readonly { readonly from: string; readonly to: string }[]
}

export interface Index {
  readonly name: string
  readonly isUnique: boolean
  readonly isPrimary: boolean
  /** False while it is built concurrently, and after that has failed. */
  readonly isValid: boolean
  /** Whether it has only the rows of its WHERE. */
  readonly isPartial: boolean
  readonly method: string
  /** Undefined when the index is over an expression. */
  readonly columns: readonly string[] | undefined
  readonly definition: string
}

export interface Policy {
  readonly name: string
  /** Changes with its definition. */
  readonly version: string
  readonly command: 'ALL' | 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
  readonly permissive: boolean
  readonly roles: readonly string[]
  /** Whether it is one for callers: for everybody, or for a role that they have. */
  readonly isForCallers: boolean
  /** Whether it applies to requests without a token. */
  readonly isForAnonymous: boolean
  readonly using: Expression | undefined
  readonly check: Expression | undefined
  /** Whether its answer may depend on rows of a table, besides the row and the claims. */
  readonly readsRelations: boolean
  /** Columns of the row that it looks at; undefined: all of them. */
  readonly columns: readonly string[] | undefined
}

/** A plain function, neither a trigger nor a member of an extension. Several with one name are overloads. */
export interface DatabaseFunction {
  readonly schema: string
  readonly name: string
  /** How the API addresses it: `total`, or `shop.total` outside `public`. */
  readonly procedure: string
  readonly comment: string | undefined
  /** Those that a caller passes, in order. */
  readonly parameters: readonly Parameter[]
  /** With pseudo-types among its parameters, such as `anyelement`, a call has nothing to resolve them by. */
  readonly isPolymorphic: boolean
  readonly volatility: 'immutable' | 'stable' | 'volatile'
  readonly returnType: TypeName
  readonly returnsSet: boolean
  readonly result: FunctionResult
  /** Changes with the function and with the types that a prepared call of it relies on. */
  readonly version: string
  readonly callersMayExecute: boolean
  /** Whether requests without a token may, by a grant of its own. */
  readonly anonymousMayExecute: boolean
  readonly publicMayExecute: boolean
  /** Whether it works with the rights of its owner and by the search path of its caller. */
  readonly isOpenDefiner: boolean
}

export interface Parameter {
  /** Empty when it has none. */
  readonly name: string
  readonly type: ColumnType
  readonly typeName: TypeName
  readonly isVariadic: boolean
  readonly hasDefault: boolean
  /** SQL of its default where it is variadic: a call by names has to pass that. */
  readonly variadicDefault: Expression | undefined
}

/** What one call answers, or one row of a set. */
export type FunctionResult =
  | { readonly kind: 'void' }
  /** One value; `name` is that of its only column. */
  | { readonly kind: 'scalar'; readonly name: string; readonly type: ColumnType }
  | { readonly kind: 'row'; readonly columns: readonly Attribute[] }
  /** A row whose columns the declaration does not say. */
  | { readonly kind: 'record' }
