import type { listEffectiveSettings } from '../../../config/effective.ts'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { ok, operation } from '../../../http/operation.ts'
import { type Answered, checkedByHandler, component, listOf, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { Report, readReport } from './report.ts'
import { listTables, TableSummary } from './tables.ts'

export interface OverviewOperationDeps {
  /** Keys of the configuration with their current values. */
  readonly settings: ReturnType<typeof listEffectiveSettings>
  readonly isAuthRequired: boolean
  readonly isEmbedded: boolean
  readonly catalog: LiveCatalog
  readonly database: SystemDatabase
  readonly version: string
}

type Deps = OverviewOperationDeps

const common = { guard: 'admin', permission: 'operations.read', tag: 'admin' } as const

const DatabaseState = component(
  'DatabaseState',
  Type.Object({
    name: Type.String(),
    version: Type.String({ description: 'Version of PostgreSQL.' }),
    isEmbedded: Type.Boolean(),
    sizeBytes: Type.Integer(),
    startedAt: timestamp,
    connections: Type.Integer({ description: 'Connections of all clients.' }),
    maxConnections: Type.Integer(),
  }),
)

const getServer = operation({
  ...common,
  id: 'overview.server',
  method: 'GET',
  path: '/api/admin/server',
  summary: 'Get the version of the server, and its database',
  success: ok(
    Type.Object({ version: Type.String(), isAuthRequired: Type.Boolean(), database: DatabaseState }),
  ),
  async handle({ version, isAuthRequired, isEmbedded, database }: Deps) {
    const state = await database.one<Omit<Answered<typeof DatabaseState>, 'isEmbedded'>>(sql`
      select
        current_database() as name,
        current_setting('server_version') as version,
        pg_database_size(current_database())::float8 as "sizeBytes",
        pg_postmaster_start_time() as "startedAt",
        (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
        current_setting('max_connections')::int as "maxConnections"`)
    return { version, isAuthRequired, database: { ...state, isEmbedded } }
  },
})

const getConfiguration = operation({
  ...common,
  id: 'overview.configuration',
  permission: 'settings.read',
  method: 'GET',
  path: '/api/admin/configuration',
  summary: 'List the current configuration of the responding node, without secrets',
  success: ok(
    listOf(
      component(
        'EffectiveSetting',
        Type.Object({
          key: Type.String(),
          value: Type.Unknown({ description: 'null for a secret, set or not.' }),
          isSecret: Type.Boolean(),
          isDefault: Type.Boolean(),
          env: Type.String({ description: 'Environment variable that sets the key.' }),
          description: Type.String(),
        }),
      ),
    ),
  ),
  handle: ({ settings }: Deps) => ({ items: settings, count: settings.length }),
})

const getReport = operation({
  ...common,
  id: 'overview.report',
  method: 'GET',
  path: '/api/admin/report',
  summary: 'Summarize traffic, sign-ups, storage and the first steps',
  description:
    'The percentiles are those of the newest 500 requests of each step. The data come from the stored requests (`logging.retention_days`) and the usage of all nodes.',
  success: ok(Report),
  async handle({ catalog, database }: Deps) {
    await catalog.refresh()
    const relations = [...catalog.current.relations.values()].filter(({ schema }) => schema !== 'basalt')
    const policy = relations.some(({ policies }) => policies.length > 0)
    return await readReport(database, { table: relations.length > 0, policy })
  },
})

/** Lists the tables, for administrators, and for all callers while authentication is off. */
const tables = (isAuthRequired: boolean) =>
  operation({
    ...(isAuthRequired ? common : { ...common, guard: 'data' }),
    id: 'overview.tables',
    permission: 'structure.read',
    method: 'GET',
    path: '/api/admin/tables',
    summary: 'List the served tables and views, with their estimated size and who can read them',
    description:
      'Sorted by name, `shop_2` before `shop_10`. Names that begin with the first search part come first.',
    query: Type.Object({
      search: Type.Optional(Type.String({ description: 'Parts of the name, all of which must occur.' })),
      limit: Type.Optional(
        checkedByHandler(
          { maximum: 999_999_999_999_999 },
          Type.Integer({ minimum: 1, description: 'Default: all.' }),
        ),
      ),
    }),
    success: ok(
      Type.Object({
        items: Type.Array(TableSummary),
        count: Type.Integer({ description: 'Number of matches, of which `limit` are listed.' }),
      }),
    ),
    async handle({ catalog, database }: Deps, { query }) {
      await catalog.refresh()
      return await listTables(database, catalog.current, query)
    },
  })

/** Returns the operations on the state of the server, for administrators. */
export function overviewOperations(isAuthRequired: boolean) {
  return [getServer, getReport, getConfiguration, tables(isAuthRequired)]
}
