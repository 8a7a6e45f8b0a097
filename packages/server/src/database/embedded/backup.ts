import { createHash } from 'node:crypto'
import { createWriteStream, linkSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { readTar, type TarEntry, tarEnd, tarHeader, tarPadding } from '../../lib/tar.ts'
import { type Static, Type } from '../../lib/type.ts'
import { readBaseBackup } from './base-backup.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'
import { isProcessAlive } from './lock-file.ts'
import { syncDirectory } from './restore-journal.ts'

/** First entry of a backup, which a restore reads before it begins. */
export const descriptionSchema = Type.Object({
  format: Type.Literal(1),
  basaltVersion: Type.String(),
  /** Its major version is that of the data files. */
  postgresVersion: Type.String(),
  /** Architecture, on which the layout of data files depends. */
  architecture: Type.String(),
  createdAt: Type.String(),
})
export type BackupDescription = Static<typeof descriptionSchema>

/** Last entry of a backup: the SHA-256 of every file before it. */
export const manifestSchema = Type.Object({ files: Type.Record(Type.String(), Type.String()) })
export type BackupManifest = Static<typeof manifestSchema>

export const descriptionPath = 'backup.json'
export const manifestPath = 'manifest.json'

export interface BackupOptions {
  readonly embedded: EmbeddedPostgres
  readonly dataDirectory: string
  readonly file: string
  readonly basaltVersion: string
  readonly signal: AbortSignal
}

/**
 * Writes a backup of the cluster and the generated secrets, all or nothing. It is written under another name
 * first, and never over an existing file.
 */
export async function writeBackup({ file, signal, ...options }: BackupOptions): Promise<void> {
  const unfinished = join(dirname(file), `.${basename(file)}.${process.pid}.partial`)
  try {
    removeUnfinished(file)
    // Reading and writing alternate, and neither buffers more than a few pieces.
    const output = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true })
    await pipeline(archive(options), createGzip({ level: 1 }), output, { signal })
    // Unlike a rename this fails when another process has created the file meanwhile.
    linkSync(unfinished, file)
    rmSync(unfinished)
    syncDirectory(dirname(file))
  } catch (error) {
    rmSync(unfinished, { force: true })
    if (codeOf(error) === 'EEXIST') throw new OperatorError(`${file} exists: choose another name`)
    if (signal.aborted) throw new OperatorError('the backup was interrupted')
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot write ${file}: ${messageOf(error)}`, { cause: error })
  }
}

async function* archive(options: Omit<BackupOptions, 'file' | 'signal'>): AsyncGenerator<Buffer> {
  const { embedded, dataDirectory, basaltVersion } = options
  const now = new Date()
  const files: Record<string, string> = {}
  const add = async function* (entry: TarEntry, body: Iterable<Buffer> | AsyncIterable<Buffer>) {
    const hash = createHash('sha256')
    yield tarHeader(entry, now)
    for await (const part of body) {
      hash.update(part)
      yield part
    }
    yield tarPadding(entry.size)
    if (entry.kind === 'file') files[entry.path] = hash.digest('hex')
  }
  const addText = (path: string, text: string | Buffer) => {
    const content = Buffer.from(text)
    return add({ path, kind: 'file', size: content.length }, [content])
  }
  const description: BackupDescription = {
    format: 1,
    basaltVersion,
    postgresVersion: embedded.version,
    architecture: process.arch,
    createdAt: now.toISOString(),
  }
  yield* addText(descriptionPath, JSON.stringify(description))
  for (const { name, content } of readSecrets(dataDirectory)) yield* addText(`secrets/${name}`, content)
  yield* add({ path: 'postgres', kind: 'directory', size: 0 }, [])
  for await (const { body, ...entry } of readTar(readBaseBackup({ socket: embedded.socket }))) {
    yield* add({ ...entry, path: `postgres/${entry.path.replace(/^\.\//, '')}` }, body)
  }
  const manifest: BackupManifest = { files }
  yield* addText(manifestPath, JSON.stringify(manifest))
  yield tarEnd
}

function readSecrets(dataDirectory: string): { name: string; content: Buffer }[] {
  const directory = join(dataDirectory, 'secrets')
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => ({ name, content: readFileSync(join(directory, name)) }))
  } catch (error) {
    // All of them are configured.
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Removes leftovers of killed backups to this file. */
function removeUnfinished(file: string): void {
  const prefix = `.${basename(file)}.`
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(prefix) || !name.endsWith('.partial')) continue
    const pid = Number(name.slice(prefix.length, -'.partial'.length))
    if (Number.isInteger(pid) && !isProcessAlive(pid)) rmSync(join(dirname(file), name), { force: true })
  }
}
