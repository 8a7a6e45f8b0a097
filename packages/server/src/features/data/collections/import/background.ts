import type { Sql } from '../../../../database/sql.ts'
import type { ImportResult, ImportRun } from './result.ts'

/** Progress of an import that its client can follow. */
export interface ImportProgress {
  /** Signal that aborts when the server stops. */
  readonly signal: AbortSignal
  /** Adds to the number of written rows, and sets that of the rejected ones. */
  wrote(rows: number, failed: number): void
  /** Resets the counts, because the import restarts. */
  restart(): void
  /** Stops saving, before the end of the import is written. */
  stopSaving(): Promise<void>
  /**
   * Returns the statement that ends the import in its transaction, as the login role. It returns one row, or none
   * when the import was declared lost.
   */
  end(result: ImportResult): Sql
}

/** File that was received and can be written. */
export interface ReceivedImport extends AsyncDisposable {
  readonly rowsRead: number
  write(progress: ImportProgress): Promise<unknown>
}

/** Imports whose clients do not wait for them. */
export interface BackgroundImports {
  /**
   * Receives the file and schedules its rows to be written after the response.
   *
   * @throws AppError too_many_imports, shutting_down
   */
  start(
    of: { readonly collection: string; readonly owner: string | null },
    receive: () => Promise<ReceivedImport>,
  ): Promise<ImportRun>
  /** @param owner null for an administrator, who may read all @throws AppError import_not_found */
  find(collection: string, id: string, owner: string | null): Promise<ImportRun>
  /**
   * Ends an import without importing anything, whichever node writes it.
   *
   * @param owner null for an administrator, who may end all @throws AppError import_not_found, import_has_ended
   */
  cancel(collection: string, id: string, owner: string | null): Promise<ImportRun>
}
