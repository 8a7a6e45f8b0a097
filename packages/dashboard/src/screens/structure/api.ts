import { type ApiResponse, get, type Item, post, type Query, segment } from '../../api/request.ts'

export type RelationSummary = Item<'structure.list'>
export type Column = Relation['columns'][number]
export type Constraint = Relation['constraints'][number]
export type Index = Relation['indexes'][number]
export type Policy = Relation['policies'][number]
export type Trigger = Relation['triggers'][number]
export type Relation = ApiResponse<'structure.get'>
export type EnumType = Objects['enums'][number]
export type DatabaseFunction = Objects['functions'][number]
export type Objects = ApiResponse<'structure.objects'>

/** Change in the format of the plan request. Its members depend on the kind. */
export interface Change {
  readonly kind: string
  readonly schema: string
  readonly name: string
  readonly [member: string]: unknown
}

export type Warning = Plan['warnings'][number]
export type Plan = ApiResponse<'structure.plan'>
export type ApplyResult = ApiResponse<'structure.apply'>
export type Migrations = ApiResponse<'structure.migrations'>
export type DiagramTable = Diagram['tables'][number]
export type DiagramReference = Diagram['references'][number]
export type Diagram = ApiResponse<'structure.diagram'>

const path = 'admin/structure'

export const listRelations = (
  { q, schema }: { readonly q: string; readonly schema: string },
  after: { readonly schema: string; readonly name: string } | undefined,
  signal: AbortSignal,
) =>
  get<'structure.list'>(
    `${path}/relations`,
    { q: q || undefined, schema: schema || undefined, afterSchema: after?.schema, afterName: after?.name },
    { signal },
  )

export const readRelation = (schema: string, name: string, signal: AbortSignal) =>
  get<'structure.get'>(`${path}/relations/${segment(schema)}/${segment(name)}`, {}, { signal })

export const readDiagram = (query: Query<'structure.diagram'>, signal: AbortSignal) =>
  get<'structure.diagram'>(`${path}/diagram`, query, { signal })

export const readObjects = (signal: AbortSignal) =>
  get<'structure.objects'>(`${path}/objects`, {}, { signal })

export const readMigrations = (signal: AbortSignal) =>
  get<'structure.migrations'>(`${path}/migrations`, {}, { signal })

export const readMigration = (name: string) =>
  get<'structure.migration'>(`${path}/migrations/${segment(name)}`)

export const planChange = (body: { readonly change: Change } | { readonly sql: string }) =>
  post<'structure.plan'>(`${path}/plan`, body)

/** Time limit for building an index of a large table, in milliseconds. */
const applyTimeoutMs = 600_000

export const applyScript = (
  body: ({ readonly change: Change } | { readonly sql: string }) & {
    readonly name: string
    readonly version: string
  },
) => post<'structure.apply'>(`${path}/apply`, body, { timeoutMs: applyTimeoutMs })
