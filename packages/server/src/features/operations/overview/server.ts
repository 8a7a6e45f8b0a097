import type { FastifyInstance } from 'fastify'
import type { EffectiveSetting } from '../../../config/effective.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { bearerSecurity, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const serverSchema = {
  tags: ['admin'],
  summary: 'What runs: the version of the server, and its database',
  security: bearerSecurity,
  response: responses({
    200: Type.Object({
      version: Type.String(),
      isAuthRequired: Type.Boolean(),
      database: Type.Object({
        name: Type.String(),
        version: Type.String({ description: 'Of PostgreSQL.' }),
        isEmbedded: Type.Boolean(),
        sizeBytes: Type.Integer(),
        startedAt: Type.String({ format: 'date-time' }),
        connections: Type.Integer({ description: 'Of all clients.' }),
        maxConnections: Type.Integer(),
      }),
    }),
  }),
}

const configurationSchema = {
  tags: ['admin'],
  summary: 'The configuration in force on the node that answers; secrets are never shown',
  security: bearerSecurity,
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          key: Type.String(),
          value: Type.Unknown({ description: 'Null of a secret, set or not.' }),
          isSecret: Type.Boolean(),
          isDefault: Type.Boolean(),
          env: Type.String({ description: 'The variable that sets it.' }),
          description: Type.String(),
        }),
      ),
      count: Type.Integer(),
    }),
  }),
}

export interface ServerDeps {
  /** Keys of the configuration with their values in force. */
  readonly settings: readonly EffectiveSetting[]
  readonly isAuthRequired: boolean
  readonly isEmbedded: boolean
  readonly database: SystemDatabase
  readonly version: string
}

export function serverRoutes(
  app: FastifyInstance,
  { settings, database, version, isAuthRequired, isEmbedded }: ServerDeps,
): void {
  app.get(
    '/api/admin/server',
    { config: { guard: 'admin', operation: 'overview.server' }, schema: serverSchema },
    async (_request, reply) =>
      reply.send({
        version,
        isAuthRequired,
        database: { ...(await describeDatabase(database)), isEmbedded },
      }),
  )

  app.get(
    '/api/admin/configuration',
    { config: { guard: 'admin', operation: 'overview.configuration' }, schema: configurationSchema },
    (_request, reply) => {
      const items = [...settings]
      return reply.send({ items, count: items.length })
    },
  )
}

interface DatabaseRow extends Record<string, unknown> {
  readonly name: string
  readonly version: string
  readonly size: string
  readonly started_at: Date
  readonly connections: number
  readonly max_connections: number
}

async function describeDatabase(database: SystemDatabase) {
  const row = await database.one<DatabaseRow>(sql`
    select
      current_database() as name,
      current_setting('server_version') as version,
      pg_database_size(current_database())::text as size,
      pg_postmaster_start_time() as started_at,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::int as max_connections`)
  return {
    name: row.name,
    version: row.version,
    sizeBytes: Number(row.size),
    startedAt: row.started_at.toISOString(),
    connections: row.connections,
    maxConnections: row.max_connections,
  }
}
