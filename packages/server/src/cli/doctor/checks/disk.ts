import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { sql } from '../../../database/sql.ts'
import { formatBytes } from '../../table.ts'
import { type Check, type CheckContext, type Finding, failure, ok, skipped, warning } from '../check.ts'
import type { DiskSpace } from '../outside.ts'

const warningShare = 0.1
const failureShare = 0.02
/** Free space from which a small share does not matter. */
const plentyBytes = 20_000_000_000
/** Free space below which no share is enough. */
const fewestBytes = 500_000_000

/** Check of the free space for the data directory, the files of users and the database. */
export const disk: Check = {
  id: 'disk',
  run: async (context) => [
    ...(await Promise.all(
      listDirectories(context).map(([id, path]) => describeDirectory(context, id, path)),
    )),
    ...(await describeDatabase(context)),
  ],
}

function listDirectories({ config: { server, storage } }: CheckContext): [string, string][] {
  const files = storage.local_path
  return [
    ['disk.data', server.data_dir],
    ...(storage.backend === 'local' && files !== '' ? [['disk.files', files] as [string, string]] : []),
  ]
}

async function describeDirectory({ outside }: CheckContext, id: string, path: string): Promise<Finding> {
  return judgeSpace(id, path, await outside.measureDisk(nearestExisting(path)))
}

/** Judges the free space of a directory. Pure. */
function judgeSpace(id: string, path: string, { freeBytes, totalBytes }: DiskSpace): Finding {
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes
  const message = `${path} has ${formatBytes(freeBytes)} free, ${Math.floor(share * 100)} %`
  const fix = `du -xh --max-depth=2 ${path} | sort -h   # what to remove, or enlarge the volume`
  if (freeBytes < fewestBytes || (share < failureShare && freeBytes < plentyBytes))
    return failure(id, message, fix)
  if (share < warningShare && freeBytes < plentyBytes) return warning(id, message, fix)
  return ok(id, message)
}

/** Returns the path, or its nearest parent that exists: a first start creates the rest. */
function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

async function describeDatabase({ config, database }: CheckContext): Promise<Finding[]> {
  if (config.database.url === '') return []
  const id = 'disk.database'
  if (database.state.kind !== 'connected') return [skipped(id, 'the database cannot be reached')]
  const { size } = await database.read((transaction) =>
    transaction.one<{ size: string }>(sql`select pg_database_size(current_database())::text as size`),
  )
  const used = `the database takes ${formatBytes(Number(size))}`
  return [skipped(id, `${used}; PostgreSQL does not report the free space of its machine`)]
}
