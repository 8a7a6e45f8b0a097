import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { type RetryPolicy, secondsBeforeRetry } from '../../lib/retry-policy.ts'
import { packageFolder } from '../../package.ts'
import type { Connection } from '../connection/connection.ts'
import { lockCodes } from '../errors/retry.ts'
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

/** Maximum wait for a lock in milliseconds. Later statements of other sessions wait until this wait ends. */
const lockTimeoutMs = 2000
/** Pauses after attempts that did not get a lock. */
const pauses: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, delay: 1, delayMax: 30, backoff: 2 }

/**
 * Applies pending migrations of the system tables in one transaction, so that a crash leaves the old state. Any
 * number of nodes may do this at once. Waits as long as another session holds a lock, but only briefly in its queue.
 *
 * @returns the names of the migrations that were applied
 * @throws OperatorError when the database was migrated by a newer Basalt
 */
export async function migrate(
  connection: Connection,
  log?: (message: string, detail?: object) => void,
): Promise<string[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inPreparation(connection, async (transaction) => {
        await transaction.count(sql`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`)
        return await migrateIn(connection, transaction)
      })
    } catch (error) {
      const seconds = lockCodes.has(codeOf(error) ?? '') ? secondsBeforeRetry(pauses, attempt) : undefined
      if (seconds === undefined) throw error
      log?.(`failed to migrate the system tables: another session holds a lock; retrying in ${seconds} s`, {
        reason: messageOf(error),
      })
      // Nodes that collided must not collide again.
      await delay(seconds * 1000 * (0.5 + Math.random() / 2))
    }
  }
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
