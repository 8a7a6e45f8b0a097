import { countWorkers } from '../../../config/workers.ts'
import { sql } from '../../../database/sql.ts'
import { type Check, failure, ok, warning } from '../check.ts'

/** Connections of a worker beside `database.max_conns`: one listens, and one serves `/health`. */
const besidePools = 2
/** Share of the connections in use from which a warning is given. */
const usedShare = 0.8

/** Check that PostgreSQL has connections for this machine, beside those of other programs. */
export const connections: Check = {
  id: 'connections',
  async run({ config, database }) {
    const { limit, used, others } = await database.read((transaction) =>
      transaction.one<{ limit: number; used: number; others: number }>(sql`
        select least(
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true), '0')::int,
            nullif((select datconnlimit from pg_database where datname = current_database()), -1),
            nullif((select rolconnlimit from pg_roles where rolname = current_user), -1)) as limit,
          count(*)::int as used,
          count(*) filter (where not starts_with(application_name, 'basalt '))::int as others
        from pg_stat_activity where backend_type = 'client backend'`),
    )
    const needed = config.database.max_conns + besidePools * countWorkers(config)
    const raise = `alter system set max_connections = ${2 * Math.max(limit, others + needed)};  -- then restart PostgreSQL`
    if (others + needed > limit) {
      return [
        failure(
          'connections',
          `this machine may need ${needed} connections, but of the ${limit} that PostgreSQL admits, other programs use ${others}`,
          raise,
        ),
      ]
    }
    if (used >= limit * usedShare)
      return [warning('connections', `${used} of ${limit} connections are in use`, raise)]
    return [
      ok(
        'connections',
        `${used} of ${limit} connections are in use; this machine needs at most ${needed} of them`,
      ),
    ]
  },
}
