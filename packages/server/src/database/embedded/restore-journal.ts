import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf, OperatorError } from '../../lib/errors.ts'

/** Rename of a file or directory. */
export interface Move {
  readonly from: string
  readonly to: string
}

/** Renames that install a restored cluster and its secrets; each may be repeated. */
export interface RestoreJournal {
  /** Renames that move existing files aside; one is done when `to` exists. */
  readonly asides: readonly Move[]
  /** Renames that move restored files to their final path; one is done when `from` does not exist. */
  readonly placements: readonly Move[]
}

function journalOf(dataDirectory: string): string {
  return join(dataDirectory, 'restore.json')
}

/** Writes the journal. From then on this process, or the next one that opens the database, executes it. */
export function writeJournal(dataDirectory: string, journal: RestoreJournal): void {
  const path = journalOf(dataDirectory)
  const unfinished = `${path}.${process.pid}`
  writeFileSync(unfinished, JSON.stringify(journal), { mode: 0o600, flush: true })
  renameSync(unfinished, path)
  syncDirectory(dataDirectory)
}

/** Removes the journal, if no other process has begun to execute it. */
export function removeJournal(dataDirectory: string): void {
  rmSync(journalOf(dataDirectory), { force: true })
}

/**
 * Executes the journal of a restore, if there is one. Processes may do so concurrently.
 *
 * @throws OperatorError when a database was created at the path of the restored one
 */
export function finishRestore(dataDirectory: string): void {
  const path = journalOf(dataDirectory)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  // `writeJournal` wrote it, and renamed it when it was complete.
  const { asides, placements } = JSON.parse(text) as RestoreJournal
  for (const move of asides) if (!existsSync(move.to)) rename(move)
  for (const move of placements) {
    if (!existsSync(move.from)) continue
    if (existsSync(move.to)) {
      throw new OperatorError(`${path}: ${move.to} is in the way of what was restored: move it elsewhere`)
    }
    rename(move)
  }
  for (const directory of new Set([...asides, ...placements].map(({ to }) => dirname(to)))) {
    syncDirectory(directory)
  }
  removeJournal(dataDirectory)
}

function rename({ from, to }: Move): void {
  try {
    renameSync(from, to)
  } catch (error) {
    // Another process was quicker.
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** Makes the names in a directory survive a crash of the machine. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
