import type { Config } from '../../config/schema.ts'
import type { Connection } from '../../database/connection.ts'
import { branchName } from '../../database/database-url.ts'
import { openConnection } from '../../database/open.ts'
import { type Sql, sql } from '../../database/sql.ts'
import { queryableOn } from '../../database/system-database.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'

/** Databases beside the one of the configuration: its branches. */
export interface Branches extends AsyncDisposable {
  /** By the part of the name after that of the database. */
  list(): Promise<string[]>
  /** An empty one. @throws OperatorError */
  create(branch: string): Promise<void>
  /**
   * One with everything that the database has.
   *
   * @param interrupt whether to end sessions in the database, which copying needs to itself; they can reconnect at once
   * @throws OperatorError that names who uses the database
   */
  copy(branch: string, interrupt: boolean): Promise<void>
  drop(branch: string): Promise<void>
}

/** The configuration of a branch. */
export function onBranch(config: Config, branch: string): Config {
  return { ...config, database: { ...config.database, branch } }
}

export async function openBranches(config: Config): Promise<Branches> {
  const base = onBranch(config, '')
  const options = { purpose: 'basalt db', log: () => undefined }
  const { connection, close } = await openConnection(base, options)
  const queryable = queryableOn(connection)
  const { name: database } = await queryable.one<{ name: string }>(sql`select current_database() as name`)
  const nameOf = (branch: string) => sql.id(branchName(database, branch))
  return {
    async list() {
      const rows = await queryable.many<{ datname: string }>(sql`
        select datname from pg_database where starts_with(datname, ${`${database}_`}) order by datname`)
      return rows.map(({ datname }) => datname.slice(database.length + 1))
    },
    create: (branch) =>
      runAlone(connection, sql`create database ${nameOf(branch)} template template0`, branch),
    async copy(branch, interrupt) {
      // Sessions that begin during the copy wait for it.
      if (interrupt) await endOtherSessions(connection)
      // The files are copied as they are: no write-ahead log of a whole database.
      const statement = sql`create database ${nameOf(branch)} template ${sql.id(database)} strategy file_copy`
      await runAlone(connection, statement, branch)
    },
    drop: (branch) =>
      runAlone(connection, sql`drop database if exists ${nameOf(branch)} with (force)`, branch),
    [Symbol.asyncDispose]: close,
  }
}

async function runAlone(connection: Connection, statement: Sql, branch: string): Promise<void> {
  try {
    await queryableOn(connection).count(statement)
  } catch (error) {
    if (codeOf(error) === '42P04') throw new OperatorError(`the branch ${branch} exists`)
    if (codeOf(error) === '55006') throw new OperatorError(await describeUsers(connection))
    if (codeOf(error) !== '42501') throw error
    throw new OperatorError(`${messageOf(error)}: have an administrator run alter role … createdb`)
  }
}

async function describeUsers(connection: Connection): Promise<string> {
  const users = await queryableOn(connection).many<{ name: string }>(sql`
    select distinct coalesce(nullif(application_name, ''), 'a session without a name') as name
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
    order by name`)
  return (
    `the database is in use by ${users.map(({ name }) => name).join(', ')}, and only one without sessions can be copied: ` +
    'stop them, or end their sessions by --interrupt'
  )
}

async function endOtherSessions(connection: Connection): Promise<void> {
  await queryableOn(connection).count(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
}
