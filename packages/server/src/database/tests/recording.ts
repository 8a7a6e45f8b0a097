import pg from 'pg'
import type { Connection } from '../connection/connection.ts'
import { type Answer, type Call, type Receiver, StatementFailed } from '../connection/message.ts'
import { Pool } from '../pool/pool.ts'
import { isSql, type RenderedSql, render, type Sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'

/** Call in a test: its SQL on one line, followed by its parameters `$1`, `$2` and so on. */
export type CallText = readonly [sql: string, ...parameters: unknown[]]

/** Messages that a connection writes at once, each with its calls. PostgreSQL runs each in a transaction. */
export type Packet = readonly (readonly CallText[])[]

/** Returns the result of a call, or its failure; undefined for a result without rows. */
export type Respond = (sql: string) => Answer | pg.DatabaseError | undefined

/** Returns a call in the form of {@link CallText}. */
export function textOf({ statement, values }: Call): CallText {
  return [oneLine(statement.text), ...values]
}

/** Returns a fragment in the form of {@link CallText}. */
export function textOfSql(fragment: Sql | RenderedSql): CallText {
  const { text, values } = isSql(fragment) ? render(fragment) : fragment
  return [oneLine(text), ...values]
}

/** Creates a failure of PostgreSQL. */
export function databaseError(code: string, details: Partial<pg.DatabaseError> = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('failed', 0, 'error'), { code, ...details })
}

/** Creates a pool on a database that records every packet, and its only connection. */
export function createRecordingPool(respond: Respond = () => undefined) {
  const packets: Packet[] = []
  const connection = createConnection(packets, respond)
  const pool = new Pool({
    open: async () => connection,
    size: 4,
    acquireTimeoutMs: 5000,
    waitingLimit: 100,
    workTimeoutMs: 30_000,
    cancel: async () => undefined,
    findDead: async () => [],
  })
  return { pool, connection, packets, [Symbol.asyncDispose]: () => pool.close() }
}

/** Creates a runner of single statements that records them. @param rowsOf returns the rows of a statement */
export function createRecordingQueryable(rowsOf: (sql: string) => readonly object[] = () => []) {
  const statements: CallText[] = []
  async function many<Row>(statement: Sql | RenderedSql): Promise<Row[]> {
    const text = textOfSql(statement)
    statements.push(text)
    return [...rowsOf(text[0])] as Row[]
  }
  const queryable = {
    many,
    one: async (statement: Sql) => (await many(statement))[0],
    maybeOne: async (statement: Sql) => (await many(statement))[0],
    count: async (statement: Sql) => (await many(statement)).length,
    execute: async (statement: RenderedSql) => ({ rows: await many(statement) }),
  }
  // The rows have the types that the test gives them.
  return { queryable: queryable as unknown as Queryable, statements }
}

function createConnection(packets: Packet[], respond: Respond): Connection {
  const sendEach = (outgoing: readonly (Receiver & { readonly calls: readonly Call[] })[]) => {
    // The pool measures its round trip by empty messages.
    if (outgoing.some(({ calls }) => calls.length > 0))
      packets.push(outgoing.map(({ calls }) => calls.map(textOf)))
    for (const { calls, receive, fail } of outgoing) {
      const results: Answer[] = []
      let failure: StatementFailed | undefined
      for (const call of calls) {
        const result = respond(textOf(call)[0]) ?? { rows: [], count: 0 }
        if (result instanceof pg.DatabaseError) failure ??= new StatementFailed(result, results.length)
        else results.push(result)
      }
      // Results arrive before any timer runs, however loaded the machine is.
      queueMicrotask(() => (failure === undefined ? receive(results) : fail(failure)))
    }
  }
  const stub = {
    isOpen: true,
    isReady: true,
    traffic: 0,
    backendPid: 1,
    onClose: () => undefined,
    destroy: () => undefined,
    close: async () => undefined,
    sendEach,
    send: (calls: readonly Call[]) => new Promise((receive, fail) => sendEach([{ calls, receive, fail }])),
    query: async (statement: Sql | RenderedSql) => {
      packets.push([[textOfSql(statement)]])
      return { rows: [], rowCount: 0 }
    },
    script: async (text: string) => {
      packets.push([[[text]]])
      return []
    },
  }
  // Pools, guards and databases use no other member.
  return stub as unknown as Connection
}

function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([([]) /g, '$1')
    .replaceAll(/ ([)\],])/g, '$1')
    .trim()
}
