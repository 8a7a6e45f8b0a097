import type { Sql } from '../../../../database/sql.ts'
import type { ImportResult, ImportRun } from './result.ts'

/** Where an import shows how far it is. */
export interface ImportProgress {
  /** When the server stops. */
  readonly signal: AbortSignal
  /** So many rows more are written, and so many refused in all. */
  wrote(rows: number, failed: number): void
  /** It restarts. */
  restart(): void
  /** Before its end is written. */
  stopSaving(): Promise<void>
  /** For the transaction of the import, as the login role: answers one row, or none when it was declared lost. */
  end(result: ImportResult): Sql
}

/** A file that was received. */
export interface ReceivedImport extends AsyncDisposable {
  readonly rowsRead: number
  write(progress: ImportProgress): Promise<unknown>
}

/** Imports whose clients do not wait for them. */
export interface BackgroundImports {
  /**
   * Receives the file, and has it written after the answer.
   *
   * @throws AppError too_many_imports, shutting_down
   */
  start(
    of: { readonly collection: string; readonly owner: string | null },
    receive: () => Promise<ReceivedImport>,
  ): Promise<ImportRun>
  /** @param owner null for an administrator, who sees all @throws AppError import_not_found */
  find(collection: string, id: string, owner: string | null): Promise<ImportRun>
  /**
   * Ends it with nothing imported, whichever node writes it.
   *
   * @param owner null for an administrator, who may end all @throws AppError import_not_found, import_has_ended
   */
  cancel(collection: string, id: string, owner: string | null): Promise<ImportRun>
}
