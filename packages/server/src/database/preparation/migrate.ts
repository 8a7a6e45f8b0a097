import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../../lib/errors.ts'
import { packageFolder } from '../../package.ts'
import type { Connection } from '../connection/connection.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { inPreparation } from './preparation.ts'

const migrationsDirectory = join(packageFolder, 'migrations')

interface Migration {
  readonly version: number
  readonly name: string
  readonly script: string
  readonly checksum: string
}

/**
 * Applies pending migrations of the system tables in one transaction, so that a crash leaves the old state. Any
 * number of nodes may do this at once.
 *
 * @returns the names of the migrations that were applied
 * @throws OperatorError when the database was migrated by a newer Basalt
 */
export async function migrate(connection: Connection): Promise<string[]> {
  return await inPreparation(connection, (transaction) => migrateIn(connection, transaction))
}

/** Applies pending migrations within a transaction of the connection, as {@link migrate} does. */
export async function migrateIn(connection: Connection, transaction: Queryable): Promise<string[]> {
  const pending = await selectPending(transaction, readMigrations())
  for (const { version, name, script, checksum } of pending) {
    await connection.script(script)
    await transaction.count(
      sql`insert into basalt.migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`,
    )
  }
  return pending.map(({ name }) => name)
}

/**
 * Returns the names of the migrations that the next start applies.
 *
 * @throws OperatorError when the database was migrated by a newer Basalt
 */
export async function listPendingMigrations(transaction: Queryable): Promise<string[]> {
  return (await selectPending(transaction, readMigrations())).map(({ name }) => name)
}

async function selectPending(
  transaction: Queryable,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  const { ledger } = await transaction.one<{ ledger: boolean }>(
    sql`select to_regclass('basalt.migrations') is not null as ledger`,
  )
  const applied = ledger
    ? await transaction.many<{ version: number; checksum: string }>(
        sql`select version, checksum from basalt.migrations order by version`,
      )
    : []
  requireKnown(applied, migrations)
  return migrations.slice(applied.length)
}

function readMigrations(): Migration[] {
  return readdirSync(migrationsDirectory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file, index) => {
      const script = readFileSync(join(migrationsDirectory, file), 'utf8')
      const [number = '', ...words] = file.replace(/\.sql$/, '').split('_')
      if (Number(number) !== index + 1) throw new Error(`migration ${file}: expected number ${index + 1}`)
      const checksum = createHash('sha256').update(script).digest('hex')
      return { version: index + 1, name: words.join('_'), script, checksum }
    })
}

function requireKnown(
  applied: readonly { version: number; checksum: string }[],
  known: readonly Migration[],
): void {
  applied.forEach(({ version, checksum }, index) => {
    const migration = known[index]
    if (migration === undefined) {
      throw new OperatorError('the database was migrated by a newer Basalt: upgrade this one')
    }
    if (version !== migration.version || checksum !== migration.checksum) {
      throw new OperatorError(
        `migration ${migration.version} (${migration.name}) of the database differs from this Basalt's`,
      )
    }
  })
}
