import pg, { type QueryResultRow } from 'pg'
import { type BinaryRows, encodeCopy } from './connection/binary-rows.ts'
import type { Connection } from './connection/connection.ts'
import { begin, type Call, commit, StatementFailed, statement } from './connection/message.ts'
import { definitionError, originOf } from './errors/definition-faults.ts'
import { isInBackground } from './pool/background.ts'
import type { Pool, Work } from './pool/pool.ts'
import { isSql, type RenderedSql, render, type Sql, sql } from './sql.ts'
import { observed, type StatementObserver } from './statement-observer.ts'

/** What runs one statement of our own; rows come parsed by type. */
export interface Queryable {
  /** The only row. @throws Error when there is none or more than one. */
  one<Row extends QueryResultRow>(statement: Sql): Promise<Row>
  /** The row, if there is one. */
  maybeOne<Row extends QueryResultRow>(statement: Sql): Promise<Row | undefined>
  many<Row extends QueryResultRow>(statement: Sql): Promise<Row[]>
  /** The number of rows returned or changed. */
  count(statement: Sql): Promise<number>
  /** Runs a statement that a library wrote. */
  execute(statement: RenderedSql): Promise<{ rows: QueryResultRow[] }>
}

/**
 * The database as Basalt itself uses it: the login role, no policies. Never handed to a path that serves a
 * caller's data; that is `UserDatabase`.
 */
export class SystemDatabase implements Queryable {
  readonly #pool: Pool
  #observe: StatementObserver | undefined

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Has every statement outside of transactions observed. */
  observe(observer: StatementObserver): void {
    this.#observe = observer
  }

  one<Row extends QueryResultRow>(statement: Sql): Promise<Row> {
    return this.#use(statement, (queryable) => queryable.one<Row>(statement))
  }

  maybeOne<Row extends QueryResultRow>(statement: Sql): Promise<Row | undefined> {
    return this.#use(statement, (queryable) => queryable.maybeOne<Row>(statement))
  }

  many<Row extends QueryResultRow>(statement: Sql): Promise<Row[]> {
    return this.#use(statement, (queryable) => queryable.many<Row>(statement))
  }

  count(statement: Sql): Promise<number> {
    return this.#use(statement, (queryable) => queryable.count(statement))
  }

  execute(statement: RenderedSql): Promise<{ rows: QueryResultRow[] }> {
    return this.#run({ run: (connection) => executeAlone(connection, statement) })
  }

  /** Runs the work in one transaction: committed when it returns, rolled back when it throws. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result> {
    return this.#run({ run: (connection) => inTransaction(connection, work) })
  }

  /**
   * Runs the statements in one transaction and one round trip. Each sees what was committed before it began.
   *
   * @param statements whose values are texts or null; a connection prepares each once
   */
  async runTogether(statements: readonly Sql[]): Promise<void> {
    const calls = [begin, ...statements.map(toCall), commit]
    await this.#run({
      run: async (connection) => {
        try {
          await connection.send(calls)
        } catch (error) {
          await connection.rollback()
          throw error instanceof StatementFailed ? error.error : error
        }
      },
    })
  }

  /**
   * Inserts rows, all or none of them. The connection is in use for as long as the source has more.
   *
   * @param command a `copy … from stdin (format binary)`
   */
  async copyIn(command: string, rows: Iterable<BinaryRows> | AsyncIterable<BinaryRows>): Promise<void> {
    const copying = this.#run({ run: (connection) => connection.copyIn(command, encodeCopy(rows)) })
    await (this.#observe === undefined ? copying : observed(this.#observe, () => command, copying))
  }

  /** Work in the background has a quota, as that on one relation has. */
  #run<Result>(work: Pick<Work<Result>, 'run'>): Promise<Result> {
    return this.#pool.use(isInBackground() ? { ...work, subject: 'background' } : work)
  }

  #use<Result>(statement: Sql, work: (queryable: Queryable) => Promise<Result>): Promise<Result> {
    const running = this.#run({ run: (connection) => work(queryableOn(connection)) })
    return this.#observe === undefined
      ? running
      : observed(this.#observe, () => render(statement).text, running)
  }
}

/** @throws TypeError for a value that is neither a text nor null */
function toCall(fragment: Sql): Call {
  const { text, values } = render(fragment)
  return {
    statement: statement(text),
    values: values.map((value) => {
      if (typeof value === 'string' || value === null) return value
      throw new TypeError(`not a text: ${typeof value}`)
    }),
  }
}

/** The same on one connection, in a transaction. */
export async function inTransaction<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  await connection.query(sql`begin isolation level read committed`)
  try {
    const result = await work(queryableOn(connection))
    await connection.query(sql`commit`)
    return result
  } catch (error) {
    await connection.rollback()
    throw error
  }
}

/** A library's script may begin a transaction of its own; one that fails must not stay open, with its locks. */
async function executeAlone(
  connection: Connection,
  statement: RenderedSql,
): Promise<{ rows: QueryResultRow[] }> {
  try {
    return await queryableOn(connection).execute(statement)
  } catch (error) {
    await connection.rollback()
    throw error
  }
}

export function queryableOn(connection: Connection): Queryable {
  const query: Connection['query'] = async (statement) => {
    try {
      return await connection.query(statement)
    } catch (error) {
      throw faultOfTrigger(error, statement)
    }
  }
  return {
    async one<Row extends QueryResultRow>(statement: Sql) {
      const { rows } = await query<Row>(statement)
      const [row] = rows
      if (row === undefined || rows.length > 1) throw new Error(`expected one row, got ${rows.length}`)
      return row
    },
    async maybeOne<Row extends QueryResultRow>(statement: Sql) {
      const { rows } = await query<Row>(statement)
      if (rows.length > 1) throw new Error(`expected at most one row, got ${rows.length}`)
      return rows[0]
    },
    async many<Row extends QueryResultRow>(statement: Sql) {
      return (await query<Row>(statement)).rows
    },
    async count(statement: Sql) {
      return (await query(statement)).rowCount ?? 0
    },
    async execute(statement) {
      return await connection.query(statement)
    },
  }
}

/** The operator's triggers on our own tables, as one that keeps a profile beside each user, fail in our own statements. */
function faultOfTrigger(error: unknown, statement: Sql | RenderedSql): unknown {
  if (!(error instanceof pg.DatabaseError) || originOf(error) !== 'definition') return error
  const { text } = isSql(statement) ? render(statement) : statement
  const [, relation] = /\b(?:insert into|update|delete from)\s+"?(basalt"?\."?\w+)/.exec(text) ?? []
  return relation === undefined ? error : definitionError(error, relation.replaceAll('"', ''), false)
}
