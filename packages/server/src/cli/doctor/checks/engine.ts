import { probeEngine } from '../../../database/connection/probe.ts'
import { sql } from '../../../database/sql.ts'
import { type Check, type Finding, failure, ok, warning } from '../check.ts'

/** Extensions that parts of the API use. */
const usedExtensions = ['pg_trgm', 'unaccent', 'vector', 'postgis']

/** Check of the PostgreSQL: its version, encoding and extensions. */
export const engine: Check = {
  id: 'engine',
  async run({ database }) {
    // It rejects old versions and read-only databases.
    const { version, isDistributed } = await database.use(probeEngine)
    return await database.read(async (transaction) => {
      const found = await transaction.one<{
        encoding: string
        database: string
        extensions: { name: string; installed: string; available: string | null }[]
      }>(sql`
        select current_setting('server_encoding') as encoding, current_database() as database,
          coalesce((
            select json_agg(json_build_object('name', e.extname, 'installed', e.extversion, 'available', a.default_version)
              order by e.extname)
            from pg_extension e left join pg_available_extensions a on a.name = e.extname
            where e.extname = any (${usedExtensions})), '[]') as extensions`)
      return [
        ok('engine.version', `PostgreSQL ${version}`),
        describeEncoding(found),
        ok('engine.distribution', isDistributed ? 'distributed by Citus' : 'not distributed'),
        ...describeExtensions(found.extensions),
      ]
    })
  },
}

function describeEncoding({ encoding, database }: { encoding: string; database: string }): Finding {
  if (encoding === 'UTF8') return ok('engine.encoding', 'texts are UTF8')
  return failure(
    'engine.encoding',
    `the encoding of the database is ${encoding}: texts with other characters are rejected or damaged`,
    `create database ${JSON.stringify(`${database}_utf8`)} encoding 'UTF8' template template0;  -- then pg_dump and pg_restore`,
  )
}

function describeExtensions(
  extensions: readonly { name: string; installed: string; available: string | null }[],
): Finding[] {
  const id = 'engine.extensions'
  const outdated = extensions.filter(
    ({ installed, available }) => available !== null && available !== installed,
  )
  if (outdated.length > 0) {
    return outdated.map(({ name, installed, available }) =>
      warning(
        id,
        `the extension ${name} is ${installed}, and PostgreSQL has ${available}`,
        `alter extension ${name} update;`,
      ),
    )
  }
  if (extensions.length === 0) return [ok(id, 'no extension that the API uses is installed')]
  return [ok(id, extensions.map(({ name, installed }) => `${name} ${installed}`).join(', '))]
}
