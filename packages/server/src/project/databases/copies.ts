import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../database/connection/connection.ts'
import { branchName } from '../../database/database-url.ts'
import { openConnection } from '../../database/open.ts'
import { type Sql, sql } from '../../database/sql.ts'
import { queryableOn } from '../../database/system-database.ts'
import { systemClock } from '../../lib/clock.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import type { ProjectSections } from '../config.ts'

/** Branches of the configured database, each a database of its own. */
export interface Branches extends AsyncDisposable {
  /** Lists the branches, by the suffix of the database name. */
  list(): Promise<string[]>
  /** Creates an empty branch. @throws OperatorError */
  create(branch: string): Promise<void>
  /**
   * Creates a branch with everything in the database.
   *
   * @param interrupt whether to end sessions in the database, which must have none during the copy; they can
   * reconnect at once
   * @throws OperatorError that names the users of the database
   */
  copy(branch: string, interrupt: boolean): Promise<void>
  drop(branch: string): Promise<void>
  /** Drops leftovers of killed commands, which are named by {@link throwAwayName}. */
  dropForgotten(): Promise<void>
}

const throwAwayPattern = /^tmp_([0-9a-z]+)_[0-9a-f]{8}$/
/** Age of a leftover: no command works on a branch for so long. */
const forgottenMs = 24 * 3600 * 1000
/** Age of a leftover without sessions: a command that has made a branch opens it at once. */
const abandonedMs = 10 * 60 * 1000

/** Returns the name of a branch that its command drops. */
export function throwAwayName(now: Date): string {
  return `tmp_${now.getTime().toString(36)}_${randomBytes(4).toString('hex')}`
}

/** Returns the configuration of a branch. */
export function onBranch<Sections extends ProjectSections>(config: Sections, branch: string): Sections {
  return { ...config, database: { ...config.database, branch } }
}

export async function openBranches(config: ProjectSections): Promise<Branches> {
  const base = onBranch(config, '')
  const options = { purpose: 'basalt db', log: () => undefined }
  const { connection, close } = await openConnection(base, options)
  const queryable = queryableOn(connection)
  const { name: database } = await queryable.one<{ name: string }>(sql`select current_database() as name`)
  const nameOf = (branch: string) => sql.id(branchName(database, branch))
  const listAll = async () => {
    const rows = await queryable.many<{ datname: string }>(sql`
        select datname from pg_database where starts_with(datname, ${`${database}_`}) order by datname`)
    return rows.map(({ datname }) => datname.slice(database.length + 1))
  }
  const drop = (branch: string) =>
    runAlone(connection, sql`drop database if exists ${nameOf(branch)} with (force)`, branch)
  return {
    list: async () => (await listAll()).filter((branch) => !throwAwayPattern.test(branch)),
    create: (branch) =>
      runAlone(connection, sql`create database ${nameOf(branch)} template template0`, branch),
    async copy(branch, interrupt) {
      if (!interrupt) await requireNoSessions(connection)
      // The files are copied as they are, without a write-ahead log of a whole database.
      const statement = sql`create database ${nameOf(branch)} template ${sql.id(database)} strategy file_copy`
      const copying = runAlone(connection, statement, branch)
      await (interrupt ? Promise.all([copying, endSessions(base, connection.backendPid, copying)]) : copying)
    },
    drop,
    async dropForgotten() {
      const used = await queryable.many<{ datname: string }>(
        sql`select distinct datname from pg_stat_activity where datname is not null`,
      )
      const inUse = new Set(used.map(({ datname }) => datname))
      for (const branch of await listAll()) {
        const [, time] = throwAwayPattern.exec(branch) ?? []
        const age = systemClock.now().getTime() - Number.parseInt(time ?? '', 36)
        const longest = inUse.has(branchName(database, branch)) ? forgottenMs : abandonedMs
        if (age > longest) await drop(branch)
      }
    },
    [Symbol.asyncDispose]: close,
  }
}

async function runAlone(connection: Connection, statement: Sql, branch: string): Promise<void> {
  try {
    await queryableOn(connection).count(statement)
  } catch (error) {
    if (codeOf(error) === '42P04') throw new OperatorError(`the branch ${branch} exists`)
    if (codeOf(error) === '55006') throw new DatabaseInUse(['a session that has just begun'])
    if (codeOf(error) !== '42501') throw error
    const { login, rolcreatedb } = await queryableOn(connection).one<{ login: string; rolcreatedb: boolean }>(
      sql`select quote_ident(rolname) as login, rolcreatedb from pg_roles where rolname = current_user`,
    )
    const advice = rolcreatedb ? '' : `: have an administrator run alter role ${login} createdb`
    throw new OperatorError(`${messageOf(error)}${advice}`)
  }
}

/**
 * Rejects a database with sessions before PostgreSQL waits five seconds for their end.
 *
 * @throws OperatorError
 */
async function requireNoSessions(connection: Connection): Promise<void> {
  const users = await queryableOn(connection).many<{ name: string }>(sql`
    select distinct coalesce(nullif(application_name, ''), 'a session without a name') as name
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
    order by name`)
  if (users.length > 0) throw new DatabaseInUse(users.map(({ name }) => name))
}

/** Thrown when a database has sessions: only one without any can be copied. */
export class DatabaseInUse extends OperatorError {
  constructor(users: readonly string[]) {
    super(
      `the database is in use by ${users.join(', ')}, and only one without sessions can be copied: stop them, or end ` +
        'their sessions by --interrupt',
    )
  }
}

/**
 * Ends sessions for as long as the copy waits for them. Sessions that begin meanwhile wait for its lock on the
 * database; an earlier one is ended in the next round. It runs in another database, because its own session
 * would block the copy.
 */
async function endSessions(
  config: ProjectSections,
  copierPid: number,
  copying: Promise<void>,
): Promise<void> {
  let isDone = false
  const finish = () => {
    isDone = true
  }
  copying.then(finish, finish)
  const options = { purpose: 'basalt db', databaseName: 'postgres', log: () => undefined }
  const { connection, close } = await openConnection(config, options)
  try {
    while (!isDone) {
      await queryableOn(connection).count(sql`
        select pg_terminate_backend(other.pid)
        from pg_stat_activity other
        join pg_stat_activity copier on copier.pid = ${copierPid}::int and copier.datid = other.datid
        where other.pid <> copier.pid and other.backend_type = 'client backend'`)
      await delay(50)
    }
  } finally {
    await close()
  }
}
