import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../../lib/errors.ts'
import { installedMarker, installPackages } from './install.ts'
import type { DeployFile } from './manifest.ts'

/** Number of files whose content is in memory at once. */
const batchSize = 50
/** Age in milliseconds after which a folder of an interrupted write is removed. */
const abandonedMs = 3_600_000

/** Files of a deploy. */
export interface DeployContent {
  readonly files: readonly DeployFile[]
  /** True if the packages are installed beside them. */
  readonly installs: boolean
}

export type ReadBlobs = (hashes: readonly string[]) => Promise<ReadonlyMap<string, Buffer>>

/** File whose content in the database has another hash. */
export class DamagedFile extends Error {}

/**
 * Writes the files of a deploy to a folder that is named by its hash, unless an intact one exists. The folder appears by one
 * rename, after the installation of its packages. Processes of one machine may do the same at once.
 *
 * @param signal ends an installation
 * @throws DamagedFile, InstallFailed
 */
export async function writeDeployFolder(
  directory: string,
  { hash, ...content }: DeployContent & { readonly hash: string },
  readBlobs: ReadBlobs,
  signal: AbortSignal,
): Promise<string> {
  const folder = join(directory, hash)
  if (await isIntact(folder, content)) return folder
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const temporary = join(directory, `.${randomUUID()}`)
  const written = join(temporary, 'deploy')
  try {
    await writeFiles(written, content.files, readBlobs)
    if (content.installs) await installPackages(written, { within: temporary, signal })
    await replaceFolder(written, folder, content)
  } catch (error) {
    // Another process has written the same folder in the meantime.
    if (!(await isIntact(folder, content))) throw error
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return folder
}

async function writeFiles(folder: string, files: readonly DeployFile[], readBlobs: ReadBlobs): Promise<void> {
  for (let first = 0; first < files.length; first += batchSize) {
    const batch = files.slice(first, first + batchSize)
    const blobs = await readBlobs([...new Set(batch.map(({ sha256 }) => sha256))])
    for (const { path, sha256 } of batch) {
      const bytes = blobs.get(sha256)
      if (bytes === undefined || hashOf(bytes) !== sha256)
        throw new DamagedFile(`the content of ${path} is damaged`)
      await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
      await writeFile(join(folder, path), bytes, { mode: 0o400, flag: 'wx' })
    }
  }
}

/**
 * Moves the folder to its name. An intact folder of that name, from another process of the machine, stays. A damaged one is
 * removed.
 */
async function replaceFolder(written: string, folder: string, content: DeployContent): Promise<void> {
  try {
    await rename(written, folder)
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY'].includes(codeOf(error) ?? '')) throw error
    if (await isIntact(folder, content)) return
    await rename(folder, `${written}-damaged`)
    await rename(written, folder)
  }
}

/** Returns true if the folder has these files with these contents, and nothing else except for its installed packages. */
export async function isIntact(folder: string, { files, installs }: DeployContent): Promise<boolean> {
  if (installs) {
    const marker = await stat(join(folder, installedMarker)).catch(() => undefined)
    if (marker === undefined) return false
  } else {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    const found = entries.filter((entry) => !entry.isDirectory())
    if (found.length !== files.length || found.some((entry) => !entry.isFile())) return false
  }
  for (const { path, sha256, size } of files) {
    const bytes = await readFile(join(folder, path)).catch(() => undefined)
    if (bytes === undefined || bytes.length !== size || hashOf(bytes) !== sha256) return false
  }
  return true
}

/** Removes folders of deploys that are not kept, and those of interrupted writes. */
export async function removeOldFolders(directory: string, kept: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const folder = join(directory, name)
    const isAbandoned = async () => Date.now() - (await stat(folder)).mtimeMs > abandonedMs
    const isOld = /^[0-9a-f]{64}$/.test(name)
      ? !kept.has(name)
      : name.startsWith('.') && (await isAbandoned())
    if (isOld) await rm(folder, { recursive: true, force: true })
  }
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
