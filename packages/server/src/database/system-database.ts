import pg, { type QueryResultRow } from 'pg'
import { type BinaryRows, encodeCopy } from './connection/binary-rows.ts'
import type { Connection } from './connection/connection.ts'
import { type Answer, begin, type Call, commit, StatementFailed, statement } from './connection/message.ts'
import { definitionError, originOf } from './errors/definition-faults.ts'
import { isInBackground } from './pool/background.ts'
import type { Pool, Work } from './pool/pool.ts'
import type { SessionGuard } from './session/guard.ts'
import { isSql, type RenderedSql, render, type Sql, sql } from './sql.ts'
import { observed, type StatementObserver } from './statement-observer.ts'

/** Runner of single statements of our own; rows are parsed by type. */
export interface Queryable {
  /** Returns the only row. @throws Error when there is none or more than one */
  one<Row extends QueryResultRow>(statement: Sql): Promise<Row>
  /** Returns the row, if there is one. */
  maybeOne<Row extends QueryResultRow>(statement: Sql): Promise<Row | undefined>
  many<Row extends QueryResultRow>(statement: Sql): Promise<Row[]>
  /** Returns the number of rows returned or changed. */
  count(statement: Sql): Promise<number>
  /** Runs a statement that a library wrote. */
  execute(statement: RenderedSql): Promise<{ rows: QueryResultRow[] }>
}

/** Transaction of the server. */
export interface SystemTransaction extends Queryable {
  /** Sends calls in one message. They may run code of the operator. @throws StatementFailed */
  send(calls: readonly Call[]): Promise<readonly Answer[]>
  /** Calls the listener after the commit. */
  onCommit(listener: () => void): void
}

/**
 * Database as Basalt itself uses it: as the owner, without policies. It must never be passed to a path that
 * serves a caller's data. Such a path uses `UserDatabase`.
 */
export class SystemDatabase implements Queryable {
  readonly #pool: Pool
  readonly #sessions: SessionGuard | undefined
  #observe: StatementObserver | undefined

  /** @param sessions guard against session state that triggers of the operator leave */
  constructor(pool: Pool, sessions?: SessionGuard) {
    this.#pool = pool
    this.#sessions = sessions
  }

  /** Sets the observer of every statement outside of transactions. */
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
    return this.#run({
      run: (connection) =>
        this.#runAlone(connection, statement.text, () => executeAlone(connection, statement)),
    })
  }

  /**
   * Runs the work in one transaction. It is committed when the work returns, and rolled back when it throws.
   */
  transaction<Result>(work: (transaction: SystemTransaction) => Promise<Result>): Promise<Result> {
    return this.#run({ run: (connection) => inTransaction(connection, work, this.#sessions) })
  }

  /**
   * Runs the statements in one transaction and one round trip. Each sees what was committed before it began.
   *
   * @param statements whose values are texts or null; a connection prepares each once
   */
  async runTogether(statements: readonly Sql[]): Promise<void> {
    const calls = statements.map(toCall)
    await this.#run({
      run: async (connection) => {
        const leavesState = this.#sessions?.mayLeaveState(calls) ?? false
        const ending = this.#sessions?.ending(leavesState) ?? [commit]
        await inBlock(
          connection,
          this.#sessions,
          () => leavesState,
          async () => {
            await connection.send([begin, ...calls, ...ending]).catch(throwCause)
          },
        )
      },
    })
  }

  /**
   * Inserts all rows, or none when it fails. The connection is in use for as long as the source has more.
   *
   * @param command a `copy … from stdin (format binary)`
   */
  async copyIn(command: string, rows: Iterable<BinaryRows> | AsyncIterable<BinaryRows>): Promise<void> {
    const copying = this.#run({
      run: (connection) =>
        this.#runAlone(connection, command, () => connection.copyIn(command, encodeCopy(rows))),
    })
    await (this.#observe === undefined ? copying : observed(this.#observe, () => command, copying))
  }

  /** Runs work on a pool connection. Background work has a quota, as work on one relation has. */
  #run<Result>(work: Pick<Work<Result>, 'run'>): Promise<Result> {
    return this.#pool.use(isInBackground() ? { ...work, subject: 'background' } : work)
  }

  /** Runs one statement. */
  async #runAlone<Result>(
    connection: Connection,
    statement: Sql | string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const sessions = this.#sessions
    if (sessions === undefined || sessions.isHarmless) return await work()
    const text = typeof statement === 'string' ? statement : render(statement).text
    const leavesState = sessions.mayTextLeaveState(text)
    if (!sessions.needsBlock(leavesState)) return await sessions.run(connection, () => leavesState, work)
    return await inTransaction(connection, work, sessions, () => leavesState)
  }

  #use<Result>(statement: Sql, work: (queryable: Queryable) => Promise<Result>): Promise<Result> {
    const running = this.#run({
      run: (connection) => this.#runAlone(connection, statement, () => work(queryableOn(connection))),
    })
    return this.#observe === undefined
      ? running
      : observed(this.#observe, () => render(statement).text, running)
  }
}

function throwCause(error: unknown): never {
  throw error instanceof StatementFailed ? error.error : error
}

/** Converts a fragment to a call. @throws TypeError for a value that is neither a text nor null */
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

/**
 * Runs the work in a transaction on one connection.
 *
 * @param sessions guard of the connection's pool
 */
export async function inTransaction<Result>(
  connection: Connection,
  work: (transaction: SystemTransaction) => Promise<Result>,
  sessions?: SessionGuard,
  mayLeaveState: () => boolean = () => false,
): Promise<Result> {
  let leavesState = false
  const listeners: (() => void)[] = []
  const note = (text: string) => {
    leavesState ||= sessions?.mayTextLeaveState(text) ?? false
  }
  const hasLeft = () => leavesState || mayLeaveState()
  const transaction: SystemTransaction = {
    ...queryableOn(connection, note),
    async send(calls) {
      leavesState = true
      return await connection.send(calls)
    },
    onCommit: (listener) => listeners.push(listener),
  }
  const committed = await inBlock(connection, sessions, hasLeft, async () => {
    await connection.query(sql`begin isolation level read committed`)
    const result = await work(transaction)
    if (sessions !== undefined && hasLeft()) await connection.send(sessions.ending(true)).catch(throwCause)
    else await connection.query(sql`commit`)
    return result
  })
  for (const listener of listeners) listener()
  return committed
}

async function inBlock<Result>(
  connection: Connection,
  sessions: SessionGuard | undefined,
  leavesState: () => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  if (sessions !== undefined) return await sessions.runBlock(connection, leavesState, work)
  try {
    return await work()
  } catch (error) {
    await connection.rollback()
    throw error
  }
}

/**
 * Runs a statement outside of a transaction. A library's script may begin a transaction of its own; a failed
 * one must not stay open with its locks.
 */
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

/** Returns a runner of statements on one connection. @param note called with the text of every statement */
export function queryableOn(connection: Connection, note?: (text: string) => void): Queryable {
  const query: Connection['query'] = async (statement) => {
    const rendered = note === undefined || !isSql(statement) ? statement : render(statement)
    if (note !== undefined && !isSql(rendered)) note(rendered.text)
    try {
      return await connection.query(rendered)
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
      return await query(statement)
    },
  }
}

/**
 * Returns the error for a fault in the operator's triggers on our tables. Such a trigger, for example one that
 * maintains a profile for each user, fails in our own statements.
 */
function faultOfTrigger(error: unknown, statement: Sql | RenderedSql): unknown {
  if (!(error instanceof pg.DatabaseError) || originOf(error) !== 'definition') return error
  const { text } = isSql(statement) ? render(statement) : statement
  const [, relation] = /\b(?:insert into|update|delete from)\s+"?(basalt"?\."?\w+)/.exec(text) ?? []
  return relation === undefined ? error : definitionError(error, relation.replaceAll('"', ''), false)
}
