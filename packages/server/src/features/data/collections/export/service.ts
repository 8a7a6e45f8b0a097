import type { Logger } from 'pino'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { type CopiedRows, RowsOverdue } from '../../../../database/connection/copied-rows.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import type { Database } from '../../../../database/open.ts'
import { renderConstants, type Sql, sql } from '../../../../database/sql.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import type { Caller } from '../access/caller.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { compileExport, exportFrame } from '../compile/export.ts'
import { type ExportFormat, parseExportQuery } from '../parse/export.ts'
import { type ExportPlan, planExport } from '../plan/export.ts'
import { relationsOfRows } from '../plan/rows.ts'
import { noteSearch, type Reading, readerOf, requireTables } from '../read/reading.ts'
import { ExportSlots } from './slots.ts'

export interface ExportLimits {
  readonly maxRows: number
  readonly timeoutMs: number
  /** Exports at once. */
  readonly maxExports: number
  /** Longest time without a row, while the client takes them. */
  readonly silenceMs: number
}

export interface ExportDeps extends Reading {
  readonly aside: Database['aside']
  readonly exportLimits: ExportLimits
  readonly log: Pick<Logger, 'warn'>
}

export interface Exporter {
  /** The file as a stream, which is for the caller to read or destroy. Fails before the first row or cuts the stream. */
  open(caller: Caller, collection: string, format: ExportFormat, queryString: string): Promise<CopiedRows>
  /** Cuts what is in flight. */
  stop(): Promise<void>
}

/** A client that takes nothing for so long gives the connection back. */
const stallMs = 60_000

/**
 * Exports go through COPY, on connections beside the pools: a file takes as long as its reader, and must not keep
 * requests waiting.
 */
export function createExporter(deps: ExportDeps): Exporter {
  const { database, withCatalog, searches, explainFailure, aside, exportLimits, log } = deps
  const slots = new ExportSlots(exportLimits.maxExports)
  const inFlight = new Map<CopiedRows, Promise<void>>()

  async function copy(caller: Caller, plan: ExportPlan, free: () => void): Promise<CopiedRows> {
    const command = renderCopy(compileExport(plan))
    const connection = await aside.openFor(caller.scope)
    const close = async (isInFlight: boolean) => {
      if (!isInFlight) {
        // Before its reader has the end, so that this one may begin the next export then.
        free()
        await connection.close()
        return
      }
      // Cutting the connection alone would let a statement run on until it has a row to send.
      await aside.cancel(connection)
      connection.destroy()
      free()
    }
    const ending = await database
      .begin(connection, caller.scope, exportLimits.timeoutMs)
      .catch(async (error) => {
        await connection.close()
        throw error
      })
    const rows = connection.copyRows(`${command}; ${ending}`, {
      frame: exportFrame(plan),
      limit: plan.maxRows,
      timeoutMs: exportLimits.timeoutMs,
      silenceMs: exportLimits.silenceMs,
      stallMs,
      isAbandoned: caller.isAbandoned,
      explain: async (failure) =>
        (await explainFailure(caller, failure, {
          relations: relationsOfRows(plan.rows),
          rows: plan.rows,
          action: 'read',
        })) ?? failure,
      release(isInFlight) {
        inFlight.set(
          rows,
          close(isInFlight).finally(() => inFlight.delete(rows)),
        )
      },
    })
    inFlight.set(rows, Promise.resolve())
    return rows
  }

  async function begin(caller: Caller, plan: ExportPlan): Promise<CopiedRows> {
    const free = slots.take(callerKey(caller))
    const rows = await copy(caller, plan, free).catch((error) => {
      free()
      throw error
    })
    try {
      await rows.begun
      rows.on('error', (error) =>
        log.warn({ collection: plan.rows.relation.collection, err: error }, 'export cut'),
      )
      return rows
    } catch (error) {
      if (error instanceof RowsOverdue) throw databaseErrors.statementTimeout()
      throw error
    }
  }

  return {
    open: (caller, collection, format, queryString) =>
      withCatalog((catalog: Catalog) => {
        requireTable(caller.scope, collection)
        const reader = readerOf(caller)
        const relation = requireRelation(catalog, collection, reader)
        const query = parseExportQuery(queryString, format)
        const plan = planExport({ catalog, reader, searches }, relation, query, exportLimits.maxRows)
        requireTables(caller, relationsOfRows(plan.rows))
        noteSearch(deps, plan.rows)
        return begin(caller, plan)
      }),
    async stop() {
      for (const rows of inFlight.keys()) rows.destroy(new Error('the server is stopping'))
      await Promise.all(inFlight.values())
    },
  }
}

/** @throws AppError invalid_value for what no text of PostgreSQL can hold */
function renderCopy(command: Sql): string {
  try {
    return renderConstants(sql`${command}`)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw databaseErrors.invalidValue('invalid value: text cannot hold the character U+0000')
  }
}

/** Administrators share one, and so do all without a token. */
function callerKey({ scope }: Caller): string {
  return scope.kind === 'caller' ? `user ${scope.userId}` : scope.kind
}
