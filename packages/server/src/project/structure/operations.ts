import type { LiveCatalog } from '../../database/catalog/live-catalog.ts'
import type { CatalogScope } from '../../database/catalog/load.ts'
import { ScriptFailure, withRemedy } from '../../database/errors/script-failure.ts'
import type { Database } from '../../database/open.ts'
import { redactStatement } from '../../features/data/sql-runner/index.ts'
import { findCaptureGap } from '../../features/events/outbox/index.ts'
import { recordAudit } from '../../features/operations/audit/index.ts'
import type { Slots } from '../../features/operations/throttle/index.ts'
import { adminOf } from '../../http/access/authentication.ts'
import { requirePermission, requireStepUp } from '../../http/access/grants.ts'
import type { AdminIdentity } from '../../http/access/identity.ts'
import { holds } from '../../http/access/permissions.ts'
import { ok, operation } from '../../http/operation.ts'
import { component, described, nullable } from '../../http/schemas.ts'
import type { Clock } from '../../lib/clock.ts'
import { OperatorError } from '../../lib/errors.ts'
import { Type } from '../../lib/type.ts'
import type { MigrationSettings } from '../migrations/attempts.ts'
import type { MigrationFile } from '../migrations/files.ts'
import { listContents } from '../migrations/ledger.ts'
import { readStatus } from '../migrations/status.ts'
import { applyScript, parseStructureScript, refuseStatement } from './apply.ts'
import { compileChange } from './changes/compile.ts'
import { parseChange } from './changes/parse.ts'
import { restrictChange } from './changes/restrict.ts'
import { changeKinds } from './changes/schema.ts'
import { defineRelation } from './describe/definition.ts'
import { mostDrawn, readDiagram } from './describe/diagram.ts'
import { readObjects } from './describe/objects.ts'
import { findRelationDetail } from './describe/relation.ts'
import { listRelations } from './describe/relations.ts'
import { structureErrors } from './errors.ts'
import { openSource, showPath } from './folder.ts'
import { rehearseHere } from './rehearse.ts'
import {
  Diagram,
  MigrationStatus,
  type RelationDetail,
  RelationStructure,
  RelationSummary,
  StructureObjects,
  StructurePlan,
} from './schemas.ts'
import { listWarnings } from './warnings.ts'

export interface StructureContext {
  readonly database: Pick<Database, 'system' | 'aside' | 'openListener'>
  readonly catalog: LiveCatalog
  readonly clock: Clock
  /** Schemas and relations of the database that are served. */
  readonly scope: CatalogScope
  /** True if `events.capture` is on. */
  readonly isCaptureEnabled: boolean
  readonly project: MigrationSettings & { readonly migrations: string }
  /** Slots that let rehearsals run one at a time, so that they do not see each other's locks. */
  readonly slots: Slots
}

/** Common members of the operations. */
const common = { guard: 'admin', permission: 'structure.read', tag: 'structure' } as const
const path = '/api/admin/structure'

/** Number of tables and views on a page. */
const pageSize = { fallback: 200, most: 500 }

const list = operation({
  ...common,
  id: 'structure.list',
  method: 'GET',
  path: `${path}/relations`,
  summary: 'List tables and views',
  description: 'Ordered by schema and name. Partitions are listed by their table.',
  query: Type.Object({
    schema: Type.Optional(Type.String()),
    q: Type.Optional(Type.String({ description: 'Part of the name.' })),
    afterSchema: Type.Optional(Type.String({ description: '`next.schema` of the previous page.' })),
    afterName: Type.Optional(Type.String({ description: '`next.name` of the previous page.' })),
    limit: Type.Optional(
      Type.Integer({ description: `At most ${pageSize.most}; ${pageSize.fallback} by default.` }),
    ),
  }),
  success: ok(
    Type.Object({
      items: Type.Array(RelationSummary),
      next: nullable(Type.Object({ schema: Type.String(), name: Type.String() })),
    }),
  ),
  async handle({ database, scope }: StructureContext, { query }) {
    const { schema, q, afterSchema, afterName = '' } = query
    const limit = Math.min(Math.max(query.limit ?? pageSize.fallback, 1), pageSize.most)
    const after = afterSchema === undefined ? undefined : ([afterSchema, afterName] as const)
    const filter = { schema, q, after, limit: limit + 1 }
    const found = await listRelations(database.system, filter, scope.schemas)
    const items = found.slice(0, limit)
    const last = found.length > limit ? items.at(-1) : undefined
    return { items, next: last === undefined ? null : { schema: last.schema, name: last.name } }
  },
})

const get = operation({
  ...common,
  id: 'structure.get',
  method: 'GET',
  path: `${path}/relations/:schema/:name`,
  summary: 'Get one table or view with its parts',
  params: Type.Object({ schema: Type.String(), name: Type.String() }),
  success: ok(RelationStructure),
  async handle({ database, scope, catalog, isCaptureEnabled }: StructureContext, { params }) {
    const { schema, name } = params
    const relation = await findRelationDetail(database.system, params, scope.schemas)
    if (relation === undefined) throw structureErrors.relationNotFound(`${schema}.${name}`)
    const known = [...catalog.current.relations.values()].find(
      (each) => each.name === name && each.schema === schema,
    )
    const eventGap =
      known === undefined
        ? explainUnknown(relation)
        : ((await findCaptureGap(database.system, known, isCaptureEnabled)) ?? null)
    return { ...relation, definition: defineRelation(relation), eventGap }
  },
})

/** Returns why a relation without a collection has no events; null while the catalog does not know a new one yet. */
function explainUnknown({ partitionOf, isServed }: RelationDetail): string | null {
  if (partitionOf !== null) return 'it is a partition, whose changes are events of its table'
  return isServed ? null : 'its schema is not served'
}

const diagram = operation({
  ...common,
  id: 'structure.diagram',
  method: 'GET',
  path: `${path}/diagram`,
  summary: 'Get tables and the foreign keys between them',
  description: `Covers all schemas, one schema, or one table and its neighbors. Above ${mostDrawn} tables only their count is returned.`,
  query: Type.Object({
    schema: Type.Optional(Type.String()),
    aroundSchema: Type.Optional(Type.String({ description: 'public by default.' })),
    aroundName: Type.Optional(
      Type.String({
        description: 'Limits the diagram to this table and the tables that it refers to or that refer to it.',
      }),
    ),
  }),
  success: ok(Diagram),
  async handle({ database }: StructureContext, { query }) {
    const { schema, aroundSchema = 'public', aroundName } = query
    const around = aroundName === undefined ? undefined : { schema: aroundSchema, name: aroundName }
    return await readDiagram(database.system, { schema, around })
  },
})

const objects = operation({
  ...common,
  id: 'structure.objects',
  method: 'GET',
  path: `${path}/objects`,
  summary: 'List types, functions, sequences and extensions',
  description: 'At most 1,000 of each kind.',
  success: ok(StructureObjects),
  handle: ({ database, scope }: StructureContext) => readObjects(database.system, scope.schemas),
})

const script = Type.String({ maxLength: 1_000_000 })

const changeSchema = Type.Optional(
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: `\`kind\`, \`schema\`, \`name\` and the members of the kind: ${changeKinds.join(', ')}.`,
    },
  ),
)

const developersNote =
  'The role `developer` sends a change of tables, columns, indexes, constraints, policies or enums. Its expressions ' +
  'may call a list of functions.'

/**
 * Returns the script of a request. @throws AppError insufficient_role for a developer's script,
 * invalid_structure_change
 */
function readScript(
  { change, sql }: { readonly change?: unknown; readonly sql?: string | undefined },
  administrator: AdminIdentity,
): string {
  if (sql !== undefined) requirePermission(administrator, 'owner')
  if ((change === undefined) === (sql === undefined)) {
    throw structureErrors.invalidStructureChange('body', 'expected either change or sql')
  }
  if (sql !== undefined) return sql
  const parsed = parseChange(change)
  return compileChange(holds(administrator.role, 'owner') ? parsed : restrictChange(parsed))
}

const plan = operation({
  ...common,
  id: 'structure.plan',
  stepUp: 'byHandler',
  permission: 'structure.write',
  method: 'POST',
  path: `${path}/plan`,
  summary: 'Plan a change of the structure',
  description:
    'Returns the SQL of the change and its effects, as observed in a transaction that is rolled ' +
    'back. The change is not run when its locks would be held for long. That is the case when it ' +
    'reads or writes all rows of a large table, or runs without a transaction. Nothing is changed. ' +
    developersNote,
  body: Type.Object({
    change: changeSchema,
    sql: Type.Optional(described('Script, instead of a change.', script)),
  }),
  success: ok(StructurePlan),
  async handle(context: StructureContext, { body: { change, sql }, http, origin }) {
    const text = readScript({ change, sql }, adminOf(http))
    const file = parse(text)
    // The script is rolled back, but effects of database functions elsewhere are not. Its errors may contain rows.
    if (sql !== undefined || !holds(adminOf(http).role, 'owner')) {
      requireStepUp(adminOf(http))
      const detail = { query: redactStatement(text).slice(0, 4000).toWellFormed() }
      const { system } = context.database
      await recordAudit(system, { actor: 'admin', action: 'structure.plan', detail, origin })
    }
    const rehearsal = await context.slots.take('rehearsal', 1, () => rehearse(context, file, text))
    const { version, observed } = rehearsal
    return {
      sql: text,
      version,
      isRehearsed: observed !== undefined,
      warnings: listWarnings(rehearsal, context.scope.requireRls === true),
      ...observed,
    }
  },
})

const apply = operation({
  ...common,
  id: 'structure.apply',
  stepUp: 'always',
  permission: 'structure.write',
  method: 'POST',
  path: `${path}/apply`,
  summary: 'Apply a change of the structure as a migration',
  description:
    'The script becomes a file in `project.migrations`, if that folder exists, and is applied as by ' +
    '`basalt migrate up`. Without a folder the database stores its text, which `basalt migrate ' +
    'pull` can later write to a project. A script that fails half-way has no effect. ' +
    developersNote,
  body: Type.Object({
    change: changeSchema,
    sql: Type.Optional(described('Script, instead of a change.', script)),
    name: Type.String({
      description: 'Purpose, such as `add todo`, from which the file name is derived.',
    }),
    version: Type.Optional(
      Type.String({
        description: 'Version of the plan. The response is 409 when the structure has changed since.',
      }),
    ),
  }),
  success: ok(
    component(
      'AppliedMigration',
      Type.Object({
        name: Type.String(),
        path: nullable(Type.String(), { description: 'null where there is no folder.' }),
        content: Type.String(),
      }),
    ),
  ),
  async handle({ database, project, clock, catalog }: StructureContext, { body, http, origin }) {
    const { name, version } = body
    const sql = readScript(body, adminOf(http))
    const applied = await applyScript(
      { database, folder: project.migrations, settings: project },
      { sql, name, version, now: clock.now() },
      (queryable, { name: target, path }) =>
        recordAudit(queryable, {
          actor: 'admin',
          action: 'structure.apply',
          target,
          detail: { path },
          origin,
        }),
    )
    await catalog.refresh()
    return applied
  },
})

const listMigrations = operation({
  ...common,
  id: 'structure.migrations',
  method: 'GET',
  path: `${path}/migrations`,
  summary: 'List the migrations of the operator',
  success: ok(MigrationStatus),
  async handle({ database: { system }, project }: StructureContext) {
    const source = openSource(project.migrations)
    const files = await readFiles(() => system.transaction((transaction) => source.list(transaction)))
    const { applied, pending, obstacles, drift } = await readStatus(system, files)
    return {
      folder: source.folder === undefined ? null : showPath(source.folder, '').slice(0, -1),
      applied,
      pending: pending.map(({ name }) => name),
      obstacles,
      drift: drift.length,
    }
  },
})

const getMigration = operation({
  ...common,
  id: 'structure.migration',
  method: 'GET',
  path: `${path}/migrations/:name`,
  summary: 'Get the text of a migration',
  params: Type.Object({ name: Type.String() }),
  success: ok(Type.Object({ name: Type.String(), content: Type.String() })),
  async handle({ database }: StructureContext, { params: { name } }) {
    const found = (await listContents(database.system)).find((each) => each.name === name)
    if (found === undefined) throw structureErrors.migrationNotFound(name)
    return found
  },
})

/** Operations for the administration of tables and their parts. */
export const structureOperations = [list, get, diagram, objects, plan, apply, listMigrations, getMigration]

async function rehearse({ database, scope }: StructureContext, file: MigrationFile, sql: string) {
  const connection = await database.aside.open()
  try {
    return await rehearseHere(connection, file, scope)
  } catch (error) {
    // The error contains its SQL, so that it can be corrected.
    const failure = await withRemedy(connection, error)
    throw failure instanceof ScriptFailure ? refuseStatement(failure, { sql }) : failure
  } finally {
    await connection.close()
  }
}

/** Parses a script. @throws AppError migration_refused */
function parse(sql: string): MigrationFile {
  try {
    return parseStructureScript('sql', sql)
  } catch (error) {
    throw error instanceof OperatorError ? structureErrors.migrationRefused(error.message) : error
  }
}

/** Reads the files. @throws AppError for a file that is no migration */
async function readFiles<Files>(read: () => Promise<Files>): Promise<Files> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof OperatorError ? structureErrors.migrationsInTheWay(error.message) : error
  }
}
