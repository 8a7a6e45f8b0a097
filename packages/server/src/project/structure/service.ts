import type { LiveCatalog } from '../../database/catalog/live-catalog.ts'
import type { CatalogScope } from '../../database/catalog/load.ts'
import { ScriptFailure, withRemedy } from '../../database/errors/script-failure.ts'
import type { Database } from '../../database/open.ts'
import { redactStatement } from '../../features/data/sql-runner/index.ts'
import { recordAudit } from '../../features/operations/audit/index.ts'
import { createSlots } from '../../features/operations/throttle/index.ts'
import type { RequestOrigin } from '../../http/requests/request-origin.ts'
import type { Clock } from '../../lib/clock.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { MigrationSettings } from '../migrations/attempts.ts'
import type { MigrationFile } from '../migrations/files.ts'
import { listContents } from '../migrations/ledger.ts'
import { readStatus } from '../migrations/status.ts'
import { type AppliedScript, applyScript, parseStructureScript, refuseStatement } from './apply.ts'
import { compileChange } from './changes/compile.ts'
import { parseChange } from './changes/parse.ts'
import { defineRelation } from './describe/definition.ts'
import { type Diagram, type DiagramFilter, readDiagram } from './describe/diagram.ts'
import { readObjects } from './describe/objects.ts'
import { findRelationDetail, type RelationDetail } from './describe/relation.ts'
import { listRelations, type RelationFilter, type RelationSummary } from './describe/relations.ts'
import { structureErrors } from './errors.ts'
import { openSource, showPath } from './folder.ts'
import { type Observed, rehearseHere } from './rehearse.ts'
import type { StructureObjects, Warning } from './schemas.ts'
import { listWarnings } from './warnings.ts'

export interface StructureDeps {
  readonly database: Pick<Database, 'system' | 'aside' | 'openListener'>
  readonly catalog: LiveCatalog
  readonly clock: Clock
  /** Schemas and relations of the database that are served. */
  readonly scope: CatalogScope
  readonly project: MigrationSettings & { readonly migrations: string }
}

export interface RelationPage {
  readonly items: readonly RelationSummary[]
  /** `after` of the next page; null on the last one. */
  readonly next: { readonly schema: string; readonly name: string } | null
}

export interface StructurePlan extends Partial<Observed> {
  readonly sql: string
  readonly version: string
  readonly isRehearsed: boolean
  readonly warnings: readonly Warning[]
}

export interface MigrationList {
  /** The folder's name; null where the server has none to write to. */
  readonly folder: string | null
  readonly applied: readonly { readonly name: string; readonly appliedAt: string }[]
  readonly pending: readonly string[]
  /** Why nothing can be applied. */
  readonly obstacles: readonly string[]
  /** How many objects were changed other than by migrations. */
  readonly drift: number
}

export interface StructureService {
  list(filter: RelationFilter): Promise<RelationPage>
  diagram(filter: DiagramFilter): Promise<Diagram>
  /** @throws AppError relation_not_found */
  get(schema: string, name: string): Promise<RelationDetail & { readonly definition: string }>
  objects(): Promise<StructureObjects>
  /** @throws AppError invalid_structure_change, statement_refused, migration_refused */
  plan(
    input: { readonly change?: unknown; readonly sql?: string },
    origin: RequestOrigin,
  ): Promise<StructurePlan>
  /** @throws AppError of a script that is refused, or of what is in its way */
  apply(
    input: { readonly sql: string; readonly name: string; readonly version?: string | undefined },
    origin: RequestOrigin,
  ): Promise<AppliedScript>
  listMigrations(): Promise<MigrationList>
  /** @throws AppError migration_not_found */
  getMigration(name: string): Promise<{ readonly name: string; readonly content: string }>
}

export function createStructureService(deps: StructureDeps): StructureService {
  const { database, catalog, clock, scope, project } = deps
  const served = scope.schemas
  const { system, aside } = database

  // One at a time, so that they do not find each other's locks.
  const slots = createSlots()
  const rehearse = (file: MigrationFile, sql: string) =>
    slots.take('rehearsal', 1, () => rehearseAlone(file, sql))

  async function rehearseAlone(file: MigrationFile, sql: string) {
    const connection = await aside.open()
    try {
      return await rehearseHere(connection, file, scope)
    } catch (error) {
      // With its SQL, to be mended.
      const failure = await withRemedy(connection, error)
      throw failure instanceof ScriptFailure ? refuseStatement(failure, { sql }) : failure
    } finally {
      await connection.close()
    }
  }

  return {
    diagram: (filter) => readDiagram(system, filter),

    async list(filter) {
      const items = await listRelations(system, { ...filter, limit: filter.limit + 1 }, served)
      const page = items.slice(0, filter.limit)
      const last = page.at(-1)
      const next = items.length > page.length && last !== undefined ? last : undefined
      return { items: page, next: next === undefined ? null : { schema: next.schema, name: next.name } }
    },

    async get(schema, name) {
      const relation = await findRelationDetail(system, { schema, name }, served)
      if (relation === undefined) throw structureErrors.relationNotFound(`${schema}.${name}`)
      return { ...relation, definition: defineRelation(relation) }
    },

    objects: () => readObjects(system, served),

    async plan({ change, sql }, origin) {
      if ((change === undefined) === (sql === undefined)) {
        throw structureErrors.invalidStructureChange('body', 'expected either change or sql')
      }
      const text = sql ?? compileChange(parseChange(change))
      const file = parse(text)
      // It is undone, but what a function of the database does elsewhere is not.
      if (sql !== undefined) {
        const detail = { query: redactStatement(sql).slice(0, 4000).toWellFormed() }
        await recordAudit(system, { actor: 'admin', action: 'structure.plan', detail, origin })
      }
      const rehearsal = await rehearse(file, text)
      const { version, observed } = rehearsal
      return {
        sql: text,
        version,
        isRehearsed: observed !== undefined,
        warnings: listWarnings(rehearsal, scope.requireRls === true),
        ...observed,
      }
    },

    async apply({ sql, name, version }, origin) {
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

    async listMigrations() {
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

    async getMigration(name) {
      const found = (await listContents(system)).find((each) => each.name === name)
      if (found === undefined) throw structureErrors.migrationNotFound(name)
      return found
    },
  }
}

/** @throws AppError */
function parse(sql: string): MigrationFile {
  try {
    return parseStructureScript('sql', sql)
  } catch (error) {
    throw error instanceof OperatorError ? structureErrors.migrationRefused(error.message) : error
  }
}

/** @throws AppError for a file that is no migration */
async function readFiles<Files>(read: () => Promise<Files>): Promise<Files> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof OperatorError ? structureErrors.migrationsInTheWay(error.message) : error
  }
}
