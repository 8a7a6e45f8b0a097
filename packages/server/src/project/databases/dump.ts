import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { statementStatistics } from '../../database/embedded/binaries.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'

export interface DumpOptions {
  /** URL of the database, for pg_dump's `--dbname`. */
  readonly connection: string
  /** Major version of the server. */
  readonly serverMajor: number
  /** True for the embedded database, which has an extension of its own. */
  readonly isEmbedded: boolean
  readonly withRows: boolean
  readonly program: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly output: Writable
}

/**
 * Writes the statements that recreate the schema. PostgreSQL's own pg_dump knows every kind of object. The
 * embedded PostgreSQL does not contain it.
 *
 * @throws OperatorError when pg_dump is missing, or older than the server, which it rejects
 */
export async function dumpSchema(options: DumpOptions): Promise<void> {
  const { connection, serverMajor, isEmbedded, withRows, program, env, output } = options
  let version = ''
  await run(program, ['--version'], env, (chunk) => (version += String(chunk)))
  const major = Number(/(\d+)(?:\.\d+)*/.exec(version)?.[1] ?? 0)
  if (major < serverMajor) {
    throw new OperatorError(
      `${program} is of PostgreSQL ${major}, the database is ${serverMajor}: install its client programs, or name another ` +
        'one by --pg-dump',
    )
  }
  const rows = withRows ? [] : ['--schema-only']
  const own = isEmbedded ? [`--exclude-extension=${statementStatistics}`] : []
  const { address, password } = splitPassword(connection)
  const args = ['--dbname', address, '--no-owner', '--exclude-schema=basalt', ...own, ...rows]
  const variables = password === undefined ? env : { ...env, PGPASSWORD: password }
  await run(program, args, variables, (chunk) => output.write(chunk))
}

/** Separates the password from a URL, because every account of the machine sees the arguments of a program. */
function splitPassword(url: string): { readonly address: string; readonly password?: string } {
  const [, before, encoded, after] = /^([^:]+:\/\/[^:@/]*):([^@/]*)(@.*)$/.exec(url) ?? []
  if (encoded === undefined) return { address: url }
  return { address: `${before}${after}`, password: decodeURIComponent(encoded) }
}

function run(
  program: string,
  args: readonly string[],
  env: DumpOptions['env'],
  onData: (chunk: Buffer) => unknown,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    let problem = ''
    child.stdout.on('data', onData)
    child.stderr.on('data', (chunk) => (problem += String(chunk)))
    child.on('error', (error) => {
      const reason = codeOf(error) === 'ENOENT' ? 'is not installed' : messageOf(error)
      reject(
        new OperatorError(
          `${program} ${reason}: install PostgreSQL's client programs, or name it by --pg-dump`,
        ),
      )
    })
    child.on('close', (code) => {
      if (code === 0) resolve()
      else
        reject(
          new OperatorError(problem.trim().replaceAll(/\s*\n\s*/g, ' ') || `${program} ended with ${code}`),
        )
    })
  })
}
