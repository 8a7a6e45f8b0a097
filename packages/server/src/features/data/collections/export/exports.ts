import type { Logger } from 'pino'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Connection } from '../../../../database/connection/connection.ts'
import {
  type CopiedRows,
  type CopiedRowsOptions,
  RowsOverdue,
} from '../../../../database/connection/copied-rows.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import type { Database } from '../../../../database/open.ts'
import { renderConstants, type Sql, sql } from '../../../../database/sql.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import { compileExport, exportFrame } from '../compile/export.ts'
import type { ExportPlan } from '../plan/export.ts'
import { ExportSlots } from './slots.ts'

export interface ExportLimits {
  readonly maxRows: number
  readonly timeoutMs: number
  /** Maximum number of concurrent exports. */
  readonly maxExports: number
  /** Longest time without a row while the client is reading. */
  readonly silenceMs: number
}

export interface ExportDeps {
  readonly database: Pick<UserDatabase, 'begin'>
  readonly aside: Database['aside']
  readonly replicas?: Database['replicas']
  readonly exportLimits: ExportLimits
  readonly log: Pick<Logger, 'warn'>
}

/** Connection of one export. */
interface ExportConnection {
  readonly connection: Connection
  /** Begins the caller's transaction. @returns the statements that commit it */
  begin(timeoutMs: number): Promise<string>
  /** Cancels its statement; never rejects. */
  cancel(): Promise<void>
}

/** Function that returns the error for a failure before the first row. */
type Explain = NonNullable<CopiedRowsOptions['explain']>

/** Longest time that a client may read nothing before its connection is released. */
const stallMs = 60_000

/**
 * Exports of this node. They use COPY on connections outside the pools: a file takes as long as its reader, and must
 * not keep requests waiting.
 */
export class Exports {
  readonly #deps: ExportDeps
  readonly #slots: ExportSlots
  readonly #inFlight = new Map<CopiedRows, Promise<void>>()

  constructor(deps: ExportDeps) {
    this.#deps = deps
    this.#slots = new ExportSlots(deps.exportLimits.maxExports)
  }

  /**
   * Returns the file as a stream that the caller reads or destroys. A failure before the first row rejects. A later
   * one cuts the stream.
   *
   * @throws AppError export_limit, exports_busy, statement_timeout
   */
  async begin(caller: Caller, plan: ExportPlan, explain: Explain): Promise<CopiedRows> {
    const rows =
      (await this.#beginOnReplica(caller, plan)) ?? (await this.#beginOnPrimary(caller, plan, explain))
    const { collection } = plan.rows.relation
    rows.on('error', (error) => this.#deps.log.warn({ collection, err: error }, 'export cut'))
    return rows
  }

  /** Cuts the exports in flight. */
  async stop(): Promise<void> {
    for (const rows of this.#inFlight.keys()) rows.destroy(new Error('the server is stopping'))
    await Promise.all(this.#inFlight.values())
  }

  async #beginOnPrimary(caller: Caller, plan: ExportPlan, explain: Explain): Promise<CopiedRows> {
    const { database, aside } = this.#deps
    const { scope } = caller
    const open = async (): Promise<ExportConnection> => {
      const connection = await aside.openFor(scope)
      return {
        connection,
        begin: (timeoutMs) => database.begin(connection, scope, timeoutMs),
        cancel: () => aside.cancel(connection),
      }
    }
    return await this.#begun(caller, plan, open, explain)
  }

  /**
   * Begins an export whose request admits a replica. Returns undefined where the primary has to serve it, as after a
   * failure before the first row.
   */
  async #beginOnReplica(caller: Caller, plan: ExportPlan): Promise<CopiedRows | undefined> {
    const { replicas } = this.#deps
    const consistency = replicas && caller.consistency?.()
    const found = consistency && (await replicas.openFor(caller.scope, consistency))
    if (found === undefined) return undefined
    let isUsed = false
    const open = async () => {
      isUsed = true
      return found
    }
    try {
      return await this.#begun(caller, plan, open)
    } catch (error) {
      // A refused export has not used the connection, which nothing else would close.
      if (!isUsed) await found.connection.close()
      if (caller.isAbandoned() || error instanceof AppError || isTimeout(error)) throw error
      return undefined
    }
  }

  /** Returns the file once it has its first row. */
  async #begun(
    caller: Caller,
    plan: ExportPlan,
    open: () => Promise<ExportConnection>,
    explain?: Explain,
  ): Promise<CopiedRows> {
    const free = this.#slots.take(callerKey(caller.scope))
    const rows = await this.#copy(caller, plan, open, free, explain).catch((error) => {
      free()
      throw error
    })
    try {
      await rows.begun
      return rows
    } catch (error) {
      if (error instanceof RowsOverdue) throw databaseErrors.statementTimeout()
      throw error
    }
  }

  async #copy(
    { isAbandoned }: Caller,
    plan: ExportPlan,
    open: () => Promise<ExportConnection>,
    free: () => void,
    explain?: Explain,
  ): Promise<CopiedRows> {
    const { timeoutMs, silenceMs } = this.#deps.exportLimits
    const command = renderCopy(compileExport(plan))
    const { connection, begin, cancel } = await open()
    const close = async (isInFlight: boolean) => {
      if (!isInFlight) {
        // The slot is freed before the reader has the end, so that the same reader may start its next export then.
        free()
        await connection.close()
        return
      }
      // If only the connection were cut, the statement would run on until it has a row to send.
      await cancel()
      connection.destroy()
      free()
    }
    const ending = await begin(timeoutMs).catch(async (error) => {
      await connection.close()
      throw error
    })
    const rows = connection.copyRows(`${command}; ${ending}`, {
      frame: exportFrame(plan),
      limit: plan.maxRows,
      timeoutMs,
      silenceMs,
      stallMs,
      isAbandoned,
      ...(explain === undefined ? {} : { explain }),
      release: (isInFlight) => {
        const closing = close(isInFlight).finally(() => this.#inFlight.delete(rows))
        this.#inFlight.set(rows, closing)
      },
    })
    this.#inFlight.set(rows, Promise.resolve())
    return rows
  }
}

/** Returns true for a statement timeout, which the primary would only repeat. */
function isTimeout(error: unknown): boolean {
  return error instanceof StatementFailed && error.error.code === '57014'
}

/** @throws AppError invalid_value for a value that no PostgreSQL text can hold */
function renderCopy(command: Sql): string {
  try {
    return renderConstants(sql`${command}`)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw databaseErrors.invalidValue('invalid value: text cannot hold the character U+0000')
  }
}

/**
 * Returns the key that a caller is counted by. Administrators share one key, and so do all callers without a token.
 */
function callerKey(scope: CallerScope): string {
  return scope.kind === 'caller' ? `user ${scope.userId}` : scope.kind
}
