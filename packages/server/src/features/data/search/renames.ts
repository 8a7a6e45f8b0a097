import type { Logger } from 'pino'
import { findRenames, type Rename } from '../../../database/catalog/changes.ts'
import type { Catalog } from '../../../database/catalog/model.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { StoredDefinitions } from './definitions.ts'
import { indexJobName } from './index-job.ts'
import { tableOf } from './indexing.ts'
import { renameSearchColumns, renameSearchRow } from './queries.ts'

export interface RenameDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly definitions: StoredDefinitions
  readonly log: Logger
}

/**
 * Moves the settings of a collection when its table or columns are renamed. Every node sees the rename, and one of
 * them finds a row to change.
 */
export function followRenames({ database, queue, definitions, log }: RenameDeps) {
  async function follow({ from, to, columns }: Rename): Promise<void> {
    const moved = await database.transaction(async (transaction) => {
      const table = await renameSearchRow(transaction, tableOf(from), tableOf(to))
      const row = (await renameSearchColumns(transaction, tableOf(to), columns)) ?? table
      // The names of the indexes contain those of the table and of the columns.
      if (row?.is_indexed === true) {
        await queue.enqueue(indexJobName, { collection: to.collection }, transaction)
      }
      return row
    })
    if (moved === undefined) return
    await definitions.refresh()
    if (moved.is_indexed === true) queue.wake()
  }

  return (before: Catalog, after: Catalog): void => {
    for (const rename of findRenames(before, after)) {
      follow(rename).catch((error) => {
        const { from, to } = rename
        log.error(
          { err: error, from: from.collection, to: to.collection },
          'failed to rename the search settings of a collection',
        )
      })
    }
  }
}
