import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { type SqlStatement, splitStatements } from '../../lib/sql-statements.ts'
import { readTextFile } from '../../lib/text-file.ts'

/** File of the migrations folder. */
export interface MigrationFile {
  /** Name such as `20261122093000_add_todo.sql`. Its time orders the file, and the whole name identifies it. */
  readonly name: string
  readonly checksum: string
  /** Text with line feeds at the ends of lines. */
  readonly content: string
  readonly statements: readonly SqlStatement[]
  /** True if its statements are one transaction. */
  readonly isTransaction: boolean
}

const fileName = /^\d{14}_[a-z0-9][a-z0-9_-]*\.sql$/

/**
 * Reads the migrations.
 *
 * @throws OperatorError that names a file with an invalid name or unsuitable directives
 */
export function readMigrationFiles(folder: string): MigrationFile[] {
  return listNames(folder).map((name) => {
    if (!fileName.test(name)) {
      throw new OperatorError(
        `${join(folder, name)}: expected a name such as 20261122093000_add_todo.sql, which basalt migrate new makes`,
      )
    }
    return parseMigration(name, readTextFile(join(folder, name), name))
  })
}

/** Lists the names in order; empty for a missing folder. @throws OperatorError */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.sql'))
      .toSorted()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw new OperatorError(`cannot read ${folder}: ${messageOf(error)}`)
  }
}

/** Parses a migration. Pure. @throws OperatorError */
export function parseMigration(name: string, content: string): MigrationFile {
  // A checkout may convert line ends, which is no change.
  const script = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const statements = splitStatements(script)
  const isTransaction = readDirectives(name, script, statements[0]?.line)
  const checksum = createHash('sha256').update(script).digest('hex')
  if (isTransaction) refuseTransactionControl(name, statements)
  return { name, checksum, content: script, statements, isTransaction }
}

/** Reads the directive `-- basalt: no transaction`, which must be above the first statement. */
function readDirectives(name: string, script: string, firstLine = Number.POSITIVE_INFINITY): boolean {
  let isTransaction = true
  script.split('\n').forEach((text, index) => {
    const directive = /^\s*--\s*basalt:\s*(.*?)\s*$/.exec(text)?.[1]
    if (directive === undefined) return
    if (directive !== 'no transaction') {
      throw new OperatorError(
        `${name}:${index + 1}: expected "-- basalt: no transaction", not "${directive}"`,
      )
    }
    if (index + 1 > firstLine) {
      throw new OperatorError(
        `${name}:${index + 1}: "-- basalt: no transaction" belongs above the first statement`,
      )
    }
    isTransaction = false
  })
  return isTransaction
}

/** Rejects statements that would end the transaction of the file. */
export function refuseTransactionControl(name: string, statements: readonly SqlStatement[]): void {
  const found = statements.find(({ words: [first = '', second, third] }) => {
    if (['begin', 'commit', 'end', 'abort'].includes(first)) return true
    if (first === 'rollback') return !(second === 'to' || third === 'to')
    return (first === 'start' || first === 'prepare') && second === 'transaction'
  })
  if (found === undefined) return
  throw new OperatorError(
    `${name}:${found.line}: ${found.words[0]} is not for a migration, which is one transaction by itself: ` +
      'remove it, or write "-- basalt: no transaction" above the first statement',
  )
}

/**
 * Creates an empty migration that follows all others.
 *
 * @returns its path
 * @throws OperatorError
 */
export function createMigrationFile(folder: string, title: string, now: Date, content?: string): string {
  const path = join(folder, nameMigration(title, now, listNames(folder)))
  writeNewFile(path, content ?? `-- ${title.trim().replace(/\s+/g, ' ')}\n`)
  return path
}

/** Returns the name of a migration that follows the existing ones. Pure. @throws OperatorError */
export function nameMigration(title: string, now: Date, existing: readonly string[]): string {
  const words = title
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
  if (words === '') {
    throw new OperatorError(`"${title}": expected a name of letters and digits, such as add_todo`, {
      exitCode: 2,
    })
  }
  const newest = Math.max(0, ...existing.map((name) => Number(/^\d{14}(?=_)/.exec(name)?.[0] ?? 0)))
  const time = Number(now.toISOString().replace(/\D/g, '').slice(0, 14))
  return `${Math.max(time, newest + 1)}_${words.slice(0, 100)}.sql`
}

/** Writes a new file. @throws OperatorError, also when the file exists */
export function writeNewFile(path: string, content: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { flag: 'wx' })
  } catch (error) {
    throw new OperatorError(`cannot write ${path}: ${messageOf(error)}`)
  }
}
