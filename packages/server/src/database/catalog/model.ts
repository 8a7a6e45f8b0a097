import type { Expression, TypeName } from '../sql.ts'

/** Catalog for the rest of Basalt: a frozen snapshot of the objects in the exposed schemas. */
export interface Catalog {
  /** Text that changes with every definition in the catalog. */
  readonly fingerprint: string
  readonly builtAt: Date
  readonly schemas: readonly string[]
  /** Relations by collection name: `track`, or `shop.track` outside `public`. */
  readonly relations: ReadonlyMap<string, Relation>
  /** Partitions that are served through their table alone, by the collection name they would have. */
  readonly partitions: ReadonlyMap<string, Relation>
  /** System relations with policies of the operator, which are no collections: `basalt.objects`. */
  readonly systemRelations: ReadonlyMap<string, Relation>
  readonly functions: readonly DatabaseFunction[]
  /** Overloads by {@link DatabaseFunction.procedure}. */
  readonly procedures: ReadonlyMap<string, readonly DatabaseFunction[]>
  /** Versions of extensions by name. */
  readonly extensions: ReadonlyMap<string, string>
  /** Schemas of the types, functions and operators of extensions, by the extension's name. */
  readonly extensionSchemas: ReadonlyMap<string, string>
}

export type RelationKind = 'table' | 'partitioned_table' | 'view' | 'materialized_view' | 'foreign_table'

export interface Relation {
  /** Object id, which survives renames. */
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** Name in the API. */
  readonly collection: string
  readonly kind: RelationKind
  readonly comment: string | undefined
  readonly rlsEnabled: boolean
  /** True if tables inherit from it: their rows are among its own, and its keys do not apply to them. */
  readonly hasDescendants: boolean
  /** True if Citus stores the rows on its workers, by a distribution column or on each of them. */
  readonly isOnWorkers: boolean
  /** True if Citus stores the rows in shards, on its workers or on the coordinator. Statements then have another form. */
  readonly isInShards: boolean
  /** Collection of a partition's table, if that is served; undefined for all other relations. */
  readonly partitionOf: string | undefined
  /** True if an extension created it, such as `spatial_ref_sys` of PostGIS. Callers can at most read it. */
  readonly isOfExtension: boolean
  /**
   * Relation without row-level security that callers would read. With `database.require_rls` it closes this
   * relation to them. Undefined where there is none, and without the setting.
   */
  readonly rlsGap: RlsGap | undefined
  /** True if its policies do not apply to the login role. */
  readonly isBypassed: boolean
  /** Privileges of `basalt_authenticated`, on at least one column; policies decide on rows. */
  readonly callers: Privileges
  /** True if callers may read all columns, including the system columns. */
  readonly callersMayReadSystemColumns: boolean
  /** Privileges of `basalt_anonymous`, by grants of its own. */
  readonly anonymous: Privileges
  /** True if requests without a token may read all columns, including the system columns. */
  readonly anonymousMayReadSystemColumns: boolean
  /** Text that changes with the relation, and with the columns and types in its prepared statements. */
  readonly version: string
  /** Columns in table order. */
  readonly columns: readonly Column[]
  readonly column: ReadonlyMap<string, Column>
  /** Empty when there is none. */
  readonly primaryKey: readonly Column[]
  /** Columns whose values identify a row: the primary key, else a unique key without NULLs. */
  readonly rowKey: readonly Column[]
  readonly uniqueKeys: readonly Key[]
  /** Columns of each unique index that applies at all times and to all rows, as `on conflict` can name them. */
  readonly conflictKeys: readonly (readonly Column[])[]
  readonly checks: readonly Check[]
  readonly foreignKeys: readonly ForeignKey[]
  /** Relationships by their name in `expand`. */
  readonly relationships: ReadonlyMap<string, Relationship>
  readonly indexes: readonly Index[]
  readonly policies: readonly Policy[]
}

export type Privileges = Readonly<Record<'select' | 'insert' | 'update' | 'delete', boolean>>

/** Relation without row-level security: the one itself, or one that a view reads. */
export interface RlsGap {
  readonly schema: string
  readonly name: string
  readonly kind: RelationKind
}

export interface Column {
  readonly name: string
  readonly position: number
  readonly type: ColumnType
  /** Type with length and precision: `character varying(160)`. */
  readonly typeName: TypeName
  readonly nullable: boolean
  /** SQL of the default. */
  readonly default: string | undefined
  /** Kind of identity column; a caller cannot write `always`. */
  readonly identity: 'always' | 'by default' | undefined
  /** True if it is computed from other columns, and cannot be written. */
  readonly isGenerated: boolean
  readonly comment: string | undefined
  /** True if callers may read it. */
  readonly callersMaySelect: boolean
  /** True if requests without a token may read it. */
  readonly anonymousMaySelect: boolean
  /** True if callers may set it in new rows. */
  readonly callersMayInsert: boolean
  /** True if callers may change it. */
  readonly callersMayUpdate: boolean
  /** True if requests without a token may set it in new rows. */
  readonly anonymousMayInsert: boolean
  /** True if requests without a token may change it. */
  readonly anonymousMayUpdate: boolean
}

export interface ColumnType {
  /** Name such as `integer`, `character varying`, `shop.colour`. */
  readonly name: TypeName
  /** Type below a domain, or the type itself: `int4`, `jsonb`, `citext`. */
  readonly base: string
  /** Element type of an array; undefined for other types. */
  readonly element: ColumnType | undefined
  /** Attributes of a composite type; undefined for other types. */
  readonly attributes: readonly Attribute[] | undefined
  /** Kind of range; undefined for other types. */
  readonly range: 'range' | 'multirange' | undefined
  /** Schema of PostGIS and its functions, for a type of that extension; undefined for other types. */
  readonly spatialSchema: string | undefined
  /** Schema of pgvector and its operators, for a type of that extension; undefined for other types. */
  readonly vectorSchema: string | undefined
  /** True if LIKE applies to it: text, varchar, char, name, citext and domains over them. */
  readonly isText: boolean
  /** True if `=` applies to it. */
  readonly hasEquality: boolean
  /** True if it can be sorted and compared by `<`. */
  readonly hasOrder: boolean
  /** True if it is a domain that rejects NULL, or contains one. */
  readonly isNotNull: boolean
  /** SQL of the default that a column of this domain has without one of its own. */
  readonly default: string | undefined
  /** Operators outside pg_catalog, which may be missing from the search path. */
  readonly operators:
    | Readonly<Partial<Record<OwnOperator, readonly [schema: string, name: string]>>>
    | undefined
  /** Type of its values in JSON. */
  readonly json: 'boolean' | 'integer' | 'number' | 'string' | 'object' | 'array'
  readonly enumLabels: readonly string[] | undefined
}

/** Operator of a type; `~~` is LIKE. Negations are not needed. */
export type OwnOperator = '=' | '<' | '<=' | '>' | '>=' | '~~'

export interface Attribute {
  readonly name: string
  /** Type with length and precision: `character varying(160)`. */
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

/** Foreign key from one of its two sides, or from a view that shows the columns of this side. */
export interface Relationship {
  /** Name in `expand`. */
  readonly name: string
  readonly kind: 'many-to-one' | 'one-to-many'
  readonly constraint: string
  /** Comment on the constraint; it may name the relation (`@name author`). */
  readonly comment: string | undefined
  /** True if the columns of this side are those of a view. */
  readonly isOfView: boolean
  /** Collection at the other side; look it up in the same snapshot. */
  readonly target: string
  /** Pairs of a column on this side and one on the other. */
  readonly pairs: readonly { readonly from: string; readonly to: string }[]
}

export interface Index {
  readonly name: string
  readonly isUnique: boolean
  readonly isPrimary: boolean
  /** False while it is built concurrently, and after that has failed. */
  readonly isValid: boolean
  /** True if it contains only the rows of its WHERE. */
  readonly isPartial: boolean
  readonly method: string
  /** Undefined when the index is over an expression. */
  readonly columns: readonly string[] | undefined
  readonly definition: string
}

export interface Policy {
  readonly name: string
  /** Text that changes with its definition. */
  readonly version: string
  readonly command: 'ALL' | 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
  readonly permissive: boolean
  readonly roles: readonly string[]
  /** True if it applies to callers: to everybody, or to a role that they have. */
  readonly isForCallers: boolean
  /** True if it applies to requests without a token. */
  readonly isForAnonymous: boolean
  readonly using: Expression | undefined
  readonly check: Expression | undefined
  /** True if its result may depend on rows of a table, besides the row and the claims. */
  readonly readsRelations: boolean
  /** Columns of the row that it reads; undefined for all of them. */
  readonly columns: readonly string[] | undefined
}

/** Plain function, neither a trigger nor a member of an extension. Several with one name are overloads. */
export interface DatabaseFunction {
  readonly schema: string
  readonly name: string
  /** Name in the API: `total`, or `shop.total` outside `public`. */
  readonly procedure: string
  readonly comment: string | undefined
  /** Parameters that a caller passes, in order. */
  readonly parameters: readonly Parameter[]
  /** True if it has pseudo-types among its parameters, such as `anyelement`, which a call cannot resolve. */
  readonly isPolymorphic: boolean
  readonly volatility: 'immutable' | 'stable' | 'volatile'
  readonly returnType: TypeName
  readonly returnsSet: boolean
  /** Object id of the relation whose row type is that of the result; undefined for other types. */
  readonly returnedRelation: string | undefined
  /** True if its result is NULL as soon as an argument is. */
  readonly isStrict: boolean
  readonly result: FunctionResult
  /** Text that changes with the function, and with the types in a prepared call. */
  readonly version: string
  readonly callersMayExecute: boolean
  /** True if requests without a token may execute it, by a grant of its own. */
  readonly anonymousMayExecute: boolean
  readonly publicMayExecute: boolean
  /** True if it runs with the rights of its owner and the search path of its caller. */
  readonly isOpenDefiner: boolean
}

export interface Parameter {
  /** Empty when it has none. */
  readonly name: string
  readonly type: ColumnType
  readonly typeName: TypeName
  readonly isVariadic: boolean
  readonly hasDefault: boolean
  /** SQL of the default of a variadic parameter, which a call by names has to pass. */
  readonly variadicDefault: Expression | undefined
}

/** Result of one call, or one row of a set. */
export type FunctionResult =
  | { readonly kind: 'void' }
  /** Single value; `name` is that of its only column. */
  | { readonly kind: 'scalar'; readonly name: string; readonly type: ColumnType }
  | { readonly kind: 'row'; readonly columns: readonly Attribute[] }
  /** Row whose columns are not declared. */
  | { readonly kind: 'record' }
