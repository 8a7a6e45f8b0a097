import { get, post, type Query, segment } from '../../api/request.ts'

/** Of `GET /api/admin/structure/relations`. */
export interface RelationSummary {
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly comment: string | null
  readonly estimatedRows: number | null
  readonly bytes: number
  readonly isRlsEnabled: boolean
  readonly isRlsForced: boolean
  readonly policyCount: number
  readonly options: readonly string[]
  readonly hasPrimaryKey: boolean
  readonly isServed: boolean
  readonly callers: { readonly authenticated: readonly string[]; readonly anonymous: readonly string[] }
}

export interface Column {
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
  readonly default: string | null
  readonly identity: 'always' | 'by default' | null
  readonly generated: string | null
  readonly comment: string | null
}

export interface Constraint {
  readonly name: string
  readonly kind: string
  readonly definition: string
  readonly columns: readonly string[]
  readonly isValidated: boolean
  readonly references: { readonly schema: string; readonly name: string } | null
}

export interface Index {
  readonly name: string
  readonly definition: string
  readonly isUnique: boolean
  readonly isPrimary: boolean
  readonly isValid: boolean
  readonly constraint: string | null
  readonly bytes: number
  readonly scans: number
}

export interface Policy {
  readonly name: string
  readonly command: string
  readonly isPermissive: boolean
  readonly roles: readonly string[]
  readonly using: string | null
  readonly check: string | null
}

export interface Trigger {
  readonly name: string
  readonly definition: string
  readonly function: string
  readonly isEnabled: boolean
}

/** Of `GET /api/admin/structure/relations/{schema}/{name}`. */
export interface Relation extends RelationSummary {
  readonly owner: string
  readonly partitionKey: string | null
  readonly partitionOf: string | null
  readonly tableBytes: number
  readonly indexBytes: number
  readonly columns: readonly Column[]
  readonly constraints: readonly Constraint[]
  readonly indexes: readonly Index[]
  readonly triggers: readonly Trigger[]
  readonly policies: readonly Policy[]
  readonly grants: readonly { readonly role: string; readonly privileges: readonly string[] }[]
  readonly dependents: readonly { readonly kind: string; readonly name: string }[]
  readonly definition: string
}

export interface EnumType {
  readonly schema: string
  readonly name: string
  readonly values: readonly string[]
  readonly usedBy: readonly string[]
}

export interface DatabaseFunction {
  readonly schema: string
  readonly name: string
  readonly arguments: string
  readonly returns: string | null
  readonly language: string
  readonly kind: string
  readonly isSecurityDefiner: boolean
  readonly definition: string | null
}

/** Of `GET /api/admin/structure/objects`. */
export interface Objects {
  readonly schemas: readonly { readonly name: string; readonly isServed: boolean }[]
  readonly enums: readonly EnumType[]
  readonly domains: readonly {
    readonly schema: string
    readonly name: string
    readonly type: string
    readonly checks: readonly string[]
  }[]
  readonly compositeTypes: readonly {
    readonly schema: string
    readonly name: string
    readonly attributes: readonly { readonly name: string; readonly type: string }[]
  }[]
  readonly functions: readonly DatabaseFunction[]
  readonly sequences: readonly {
    readonly schema: string
    readonly name: string
    readonly type: string
    readonly lastValue: string | null
    readonly ownedBy: string | null
  }[]
  readonly extensions: readonly { readonly name: string; readonly version: string; readonly schema: string }[]
  readonly columnTypes: readonly string[]
  readonly roles: readonly string[]
}

/** As the plan takes it: the members are those of its kind. */
export interface Change {
  readonly kind: string
  readonly schema: string
  readonly name: string
  readonly [member: string]: unknown
}

export interface Warning {
  readonly kind: 'open' | 'access' | 'removes' | 'rewrites' | 'reads' | 'blocks' | 'not rehearsed'
  readonly message: string
}

/** Of `POST /api/admin/structure/plan`. */
export interface Plan {
  readonly sql: string
  readonly version: string
  readonly isRehearsed: boolean
  readonly warnings: readonly Warning[]
}

/** Of `POST /api/admin/structure/apply`. */
export interface Applied {
  readonly name: string
  readonly path: string | null
  readonly content: string
}

/** Of `GET /api/admin/structure/migrations`. */
export interface Migrations {
  readonly folder: string | null
  readonly applied: readonly { readonly name: string; readonly appliedAt: string }[]
  readonly pending: readonly string[]
  readonly obstacles: readonly string[]
  readonly drift: number
}

export interface DiagramTable {
  readonly schema: string
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string; readonly isKey: boolean }[]
}

interface TableColumns {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
}

export interface DiagramReference {
  readonly name: string
  readonly from: TableColumns
  readonly to: TableColumns
}

/** Of `GET /api/admin/structure/diagram`. */
export interface Diagram {
  /** Of tables; more than are listed, when they are too many for a picture. */
  readonly count: number
  readonly tables: readonly DiagramTable[]
  readonly references: readonly DiagramReference[]
}

const path = 'admin/structure'

interface RelationPage {
  readonly items: readonly RelationSummary[]
  readonly next: { readonly schema: string; readonly name: string } | null
}

export const listRelations = (
  { q, schema }: { readonly q: string; readonly schema: string },
  after: { readonly schema: string; readonly name: string } | undefined,
  signal: AbortSignal,
) =>
  get<RelationPage>(
    `${path}/relations`,
    { q: q || undefined, schema: schema || undefined, afterSchema: after?.schema, afterName: after?.name },
    { signal },
  )

export const readRelation = (schema: string, name: string, signal: AbortSignal) =>
  get<Relation>(`${path}/relations/${segment(schema)}/${segment(name)}`, {}, { signal })

export const readDiagram = (query: Query, signal: AbortSignal) =>
  get<Diagram>(`${path}/diagram`, query, { signal })

export const readObjects = (signal: AbortSignal) => get<Objects>(`${path}/objects`, {}, { signal })

export const readMigrations = (signal: AbortSignal) => get<Migrations>(`${path}/migrations`, {}, { signal })

export const readMigration = (name: string) =>
  get<{ readonly name: string; readonly content: string }>(`${path}/migrations/${segment(name)}`)

export const planChange = (body: { readonly change: Change } | { readonly sql: string }) =>
  post<Plan>(`${path}/plan`, body)

/** How long an index of a large table may take to build. */
const applyTimeoutMs = 600_000

export const applyScript = (body: {
  readonly sql: string
  readonly name: string
  readonly version: string
}) => post<Applied>(`${path}/apply`, body, { timeoutMs: applyTimeoutMs })
