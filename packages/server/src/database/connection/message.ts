import { createHash } from 'node:crypto'
import type { Submittable, Connection as WireConnection } from 'pg'
import pg from 'pg'
import { serialize } from 'pg-protocol'
import { ConnectionLost } from '../errors/failures.ts'
import type { ReadRelation } from '../sql.ts'
import { PreparedNames } from './prepared-names.ts'

/**
 * Statement by its text. The name under which a connection prepares it derives from the text and the version.
 */
export interface Statement {
  readonly text: string
  /** Empty for a statement that is planned anew each time. */
  readonly name: string
  /**
   * First relation, or set-returning function, that the text names. A lock or slowness of it affects all
   * statements on it.
   */
  readonly subject: string | undefined
  /** Relations on which the plan depends. Empty for a write, or a statement that names none. */
  readonly reads: readonly ReadRelation[]
}

/** Statement with the values of one execution, all in Postgres' text format. */
export interface Call {
  readonly statement: Statement
  readonly values: readonly (string | null)[]
  /** Maximum number of rows of a call whose result has its columns. Further rows are left out. */
  readonly describedRows?: number
  /**
   * Maximum number of bytes that the server sends during the message. Then the connection is broken, because PostgreSQL has no
   * limit for a result, and one value may have a gigabyte.
   */
  readonly maxBytes?: number
}

/** Cause of a ConnectionLost whose message had more than {@link Call.maxBytes}. */
export class MessageTooLong extends Error {}

/** Result of one call: its rows as text, and the number of rows that it returned or changed. */
export interface Answer {
  readonly rows: readonly (readonly (string | null)[])[]
  readonly count: number
  /** Columns of a call with {@link Call.describedRows}, if it returns rows. */
  readonly columns?: readonly AnswerColumn[]
}

export interface AnswerColumn {
  readonly name: string
  /** Object id of the type. */
  readonly typeId: number
}

/** Receiver of a message's outcome. Exactly one of the two functions is called, once. */
export interface Receiver {
  readonly receive: (answers: readonly Answer[]) => void
  /** @param error a StatementFailed or a ConnectionLost */
  readonly fail: (error: unknown) => void
}

/** Pattern of statements that only read. */
const query = /^\s*(?:select|with)\b(?!.*\b(?:insert into|update|delete from|merge into)\b)/s

/**
 * Creates a statement.
 *
 * @param version of the definitions that the text names, where the prepared form depends on them
 * @param relations that the text names
 */
export function statement(text: string, version = '', relations: readonly ReadRelation[] = []): Statement {
  const name = statementName(`${version} ${text}`)
  const reads = relations.length > 0 && query.test(text) ? relations : []
  const [, subject] = /\b(?:from|into|update|lateral) ("(?:[^"]|"")+"\."(?:[^"]|"")+")/.exec(text) ?? []
  return { text, name, subject, reads }
}

/** Returns the name of a prepared statement for everything that distinguishes it from others. */
export function statementName(identity: string): string {
  return `b${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}`
}

/**
 * Start of a transaction. Our statements are conditional by themselves; a stricter default of the database
 * would only make them fail.
 */
export const begin: Call = { statement: statement('begin isolation level read committed'), values: [] }
export const commit: Call = { statement: statement('commit'), values: [] }

/** Returns the subject of the first call that has one. */
export function subjectOf(calls: readonly Call[]): string | undefined {
  for (const { statement } of calls) if (statement.subject !== undefined) return statement.subject
  return undefined
}

/** Maximum number of prepared statements per connection. Each costs Postgres about ten kilobytes. */
const preparedLimit = 200

const preparedNames = new WeakMap<WireConnection, PreparedNames>()

/**
 * SQLSTATE of a prepared statement that does not exist: its Parse failed, or another client shares the session.
 */
export const missingStatement = '26000'

const executeBytes = serialize.execute({})
const syncBytes = serialize.sync()

/**
 * Several statements in one message with one Sync. They take one round trip and one implicit transaction, in
 * which an error of any part undoes all of it (PostgreSQL, Extended Query, Pipelining). An ordinary client runs
 * the message.
 */
export class Message implements Submittable {
  readonly #calls: readonly Call[]
  readonly #prepare: boolean
  readonly #parsed: { name: string; index: number }[] = []
  readonly #finished: Answer[] = []
  readonly #receiver: Receiver
  #rows: (string | null)[][] = []
  #columns: readonly AnswerColumn[] | undefined
  #isSent = false
  #stopLimit: (() => void) | undefined
  #followers: readonly Message[] = []
  #isPipelined = false
  #submitNext: ((next: Message) => void) | undefined

  /** @param prepare false where named statements do not survive, as behind a transaction pooler */
  constructor(calls: readonly Call[], prepare: boolean, receiver: Receiver) {
    this.#calls = calls
    this.#prepare = prepare
    this.#receiver = receiver
  }

  /**
   * Chains other messages to this one. Postgres runs them in order, each in a transaction of its own.
   *
   * @param isPipelined true if all are written at once; otherwise each one follows the result of the one before
   * @param submitNext passes the next message to the client, synchronously, when its result is due
   */
  leads(followers: readonly Message[], isPipelined: boolean, submitNext: (next: Message) => void): void {
    const chain = [this, ...followers]
    chain.forEach((message, index) => {
      message.#followers = chain.slice(index + 1)
      message.#isPipelined = isPipelined
      message.#submitNext = submitNext
    })
  }

  submit(wire: WireConnection): undefined {
    if (this.#isSent) return undefined
    const prepared = preparedNamesOf(wire)
    // They are at the head of the packet, where no error can make Postgres skip them.
    const parts = prepared.takeSurplus().map(closeStatement)
    for (const message of this.#isPipelined ? [this, ...this.#followers] : [this]) {
      message.#write(prepared, parts)
    }
    this.#limitBytes(wire)
    wire.stream.write(Buffer.concat(parts))
    return undefined
  }

  /** Breaks the connection at the limit of bytes, before the parser of the driver has the whole row. */
  #limitBytes({ stream }: WireConnection): void {
    const limit = this.#calls.reduce((sum, { maxBytes = 0 }) => sum + maxBytes, 0)
    if (limit === 0) return
    let received = 0
    const check = (chunk: Buffer) => {
      received += chunk.length
      if (received > limit) stream.destroy(new MessageTooLong(`PostgreSQL has sent more than ${limit} bytes`))
    }
    stream.prependListener('data', check)
    this.#stopLimit = () => stream.off('data', check)
  }

  #write(prepared: PreparedNames, parts: Buffer[]): void {
    this.#isSent = true
    this.#calls.forEach(({ statement, values, describedRows }, index) => {
      const name = this.#prepare ? statement.name : ''
      if (!prepared.has(name)) {
        if (name !== '') {
          // The statement exists when its Parse succeeded and the Bind after it failed. Closing a statement
          // that does not exist is no error.
          parts.push(closeStatement(name))
          prepared.add(name)
          this.#parsed.push({ name, index })
        }
        parts.push(serialize.parse({ name, text: statement.text }))
      }
      // The serializer only reads the values.
      parts.push(serialize.bind({ statement: name, values: values as (string | null)[] }))
      if (describedRows === undefined) parts.push(executeBytes)
      else parts.push(serialize.describe({ type: 'P' }), serialize.execute({ rows: describedRows }))
    })
    parts.push(syncBytes)
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, typeId: dataTypeID }))
  }

  handlePortalSuspended(): void {
    this.#finish(this.#rows.length)
  }

  handleCopyInResponse(): void {}
  handleCopyData(): void {}

  handleDataRow(row: { fields: (string | null)[] }): void {
    this.#rows.push(row.fields)
  }

  handleEmptyQuery(): void {
    this.#finish(0)
  }

  handleCommandComplete(completed: { text: string }): void {
    this.#finish(Number(/\d+$/.exec(completed.text)?.[0] ?? 0))
  }

  handleError(error: unknown, wire: WireConnection): void {
    this.#stopLimit?.()
    const index = this.#finished.length
    if (!(error instanceof pg.DatabaseError)) {
      for (const message of [this, ...this.#followers]) {
        message.#receiver.fail(
          new ConnectionLost('the database connection broke during a statement', { cause: error }),
        )
      }
      return
    }
    // Statements parsed before the error stay prepared; the rest was skipped up to the Sync.
    const prepared = preparedNamesOf(wire)
    for (const parsed of this.#parsed) if (parsed.index >= index) prepared.invalidate(parsed.name)
    if (error.code === missingStatement) prepared.invalidate(this.#calls[index]?.statement.name ?? '')
    this.#receiver.fail(new StatementFailed(error, index))
    this.#expectNext()
  }

  handleReadyForQuery(wire: WireConnection): void {
    this.#stopLimit?.()
    if (this.#finished.length !== this.#calls.length) {
      // A pooler has mixed up the results of its clients. Those that follow may belong to others, too.
      const error = new Error(
        `the database returned ${this.#finished.length} results for ${this.#calls.length} statements`,
      )
      this.handleError(error, wire)
      wire.stream.destroy(error)
      return
    }
    // The transaction commits only now: a deferred constraint fails after the last CommandComplete.
    this.#receiver.receive(this.#finished)
    this.#expectNext()
  }

  /**
   * Hands over the next message. Its result may be in the same packet, so the client must know it before it
   * reads on.
   */
  #expectNext(): void {
    const [next] = this.#followers
    if (next !== undefined) this.#submitNext?.(next)
  }

  #finish(count: number): void {
    const columns = this.#columns
    const answer = { rows: this.#rows, count }
    this.#finished.push(columns === undefined ? answer : { ...answer, columns })
    this.#rows = []
    this.#columns = undefined
  }
}

/** Error of Postgres, with the position of the failed call in the message. */
export class StatementFailed extends Error {
  override readonly name = 'StatementFailed'
  readonly error: pg.DatabaseError
  /** Index of the call that failed; the number of calls when the commit failed. */
  readonly index: number

  constructor(error: pg.DatabaseError, index: number) {
    super(error.message, { cause: error })
    this.error = error
    this.index = index
  }
}

function preparedNamesOf(wire: WireConnection): PreparedNames {
  let names = preparedNames.get(wire)
  if (names === undefined) {
    names = new PreparedNames(preparedLimit)
    preparedNames.set(wire, names)
  }
  return names
}

function closeStatement(name: string): Buffer {
  return serialize.close({ type: 'S', name })
}
