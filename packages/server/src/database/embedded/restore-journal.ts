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

/** A rename. */
export interface Move {
  readonly from: string
  readonly to: string
}

/** The renames that put a restored cluster and its secrets in place; each is harmless twice. */
export interface RestoreJournal {
  /** What is there, out of the way: done when `to` exists. */
  readonly asides: readonly Move[]
  /** What was restored, into its place: done when `from` does not exist. */
  readonly placements: readonly Move[]
}

function journalOf(dataDirectory: string): string {
  return join(dataDirectory, 'restore.json')
}

/** Writes down what is to be done. From then on it is done, by this process or by the next one that opens the database. */
export function writeJournal(dataDirectory: string, journal: RestoreJournal): void {
  const path = journalOf(dataDirectory)
  const unfinished = `${path}.${process.pid}`
  writeFileSync(unfinished, JSON.stringify(journal), { mode: 0o600, flush: true })
  renameSync(unfinished, path)
  syncDirectory(dataDirectory)
}

/** Takes back what was written down, if no other process has begun to do it. */
export function removeJournal(dataDirectory: string): void {
  rmSync(journalOf(dataDirectory), { force: true })
}

/**
 * Does what a restore has written down, if there is such a thing. Processes may do so at once.
 *
 * @throws OperatorError when a database was made where the restored one is to be
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
  // Written by `writeJournal` and renamed when it was complete.
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

/** Makes the names in a directory outlive a crash of the machine. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
