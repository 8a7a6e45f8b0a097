import type { Queryable } from '../../../../database/system-database.ts'
import { ReadCache } from '../../../../lib/read-cache.ts'
import { type Blob, readBlob } from './serving-queries.ts'

/** Maximum bytes of files that a node holds in memory. Other files are read from the database each time. */
const memoryBytes = 64 * 1024 * 1024

/** Cache of file content by hash. */
export type BlobCache = ReadCache<string, Blob>

export function createBlobCache(database: Queryable): BlobCache {
  return new ReadCache({
    limit: memoryBytes,
    weigh: ({ bytes, br, gzip }) => bytes.length + (br?.length ?? 0) + (gzip?.length ?? 0),
    read: (sha256) => readBlob(database, sha256),
  })
}
