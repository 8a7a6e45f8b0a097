import type { Logger } from 'pino'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import {
  type CopiedRows,
  type CopiedRowsOptions,
  RowsOverdue,
} from '../../../../database/connection/copied-rows.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import type { Database } from '../../../../database/open.ts'
import { renderConstants, type Sql, sql } from '../../../../database/sql.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
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
  readonly exportLimits: ExportLimits
  readonly log: Pick<Logger, 'warn'>
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
    const free = this.#slots.take(callerKey(caller.scope))
    const rows = await this.#copy(caller, plan, explain, free).catch((error) => {
      free()
      throw error
    })
    try {
      await rows.begun
      const { collection } = plan.rows.relation
      rows.on('error', (error) => this.#deps.log.warn({ collection, err: error }, 'export cut'))
      return rows
    } catch (error) {
      if (error instanceof RowsOverdue) throw databaseErrors.statementTimeout()
      throw error
    }
  }

  /** Cuts the exports in flight. */
  async stop(): Promise<void> {
    for (const rows of this.#inFlight.keys()) rows.destroy(new Error('the server is stopping'))
    await Promise.all(this.#inFlight.values())
  }

  async #copy(
    { scope, isAbandoned }: Caller,
    plan: ExportPlan,
    explain: Explain,
    free: () => void,
  ): Promise<CopiedRows> {
    const { database, aside, exportLimits } = this.#deps
    const { timeoutMs, silenceMs } = exportLimits
    const command = renderCopy(compileExport(plan))
    const connection = await aside.openFor(scope)
    const close = async (isInFlight: boolean) => {
      if (!isInFlight) {
        // The slot is freed before the reader has the end, so that the same reader may start its next export then.
        free()
        await connection.close()
        return
      }
      // If only the connection were cut, the statement would run on until it has a row to send.
      await aside.cancel(connection)
      connection.destroy()
      free()
    }
    const ending = await database.begin(connection, scope, timeoutMs).catch(async (error) => {
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
      explain,
      release: (isInFlight) => {
        const closing = close(isInFlight).finally(() => this.#inFlight.delete(rows))
        this.#inFlight.set(rows, closing)
      },
    })
    this.#inFlight.set(rows, Promise.resolve())
    return rows
  }
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
