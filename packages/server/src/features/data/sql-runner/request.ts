import { randomUUID } from 'node:crypto'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { AdminIdentity } from '../../../http/access/identity.ts'
import {
  checkedByHandler,
  checkedText,
  component,
  requiredByHandler,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { sqlRunnerErrors } from './errors.ts'

/** Maximum length of a query. A text of this length is split within milliseconds. */
const maxQueryLength = 1_000_000
const maxParameters = 100

export type RunMode = 'read' | 'write'
/** Transaction mode: one for all statements, or one for each, as `vacuum` needs it. */
export type RunTransaction = 'all' | 'each'

/** Value in PostgreSQL's text form, with its type unless PostgreSQL infers one. */
export interface Parameter {
  readonly value: string | null
  readonly type: string | undefined
}

export interface RunRequest {
  readonly id: string
  readonly query: string
  readonly mode: RunMode
  readonly transaction: RunTransaction
  readonly scope: CallerScope
  /** Identity for the history: `administrator`, `anonymous` or `user <id>`. */
  readonly runAs: string
  /** True if a writing run has the rights of the role `developer`, and not of the owner of the tables. */
  readonly isDeveloper: boolean
  readonly parameters: readonly Parameter[]
  readonly maxRows: number
  readonly timeoutSeconds: number
}

interface Bounds {
  readonly fallback: number
  readonly most: number
}

/** Bounds of one run. */
const runBounds = {
  timeoutSeconds: { fallback: 30, most: 600 },
  maxRows: { fallback: 1000, most: 10_000 },
} as const satisfies Record<string, Bounds>

const bounded = (what: string, { fallback, most }: Bounds) =>
  Type.Optional(
    checkedByHandler(
      { minimum: 1, maximum: most, default: fallback },
      Type.Integer({ description: `${what}. Default: ${fallback}. Maximum: ${most}.` }),
    ),
  )

const option = (options: readonly string[], description: string) =>
  Type.Optional(checkedByHandler({ enum: options }, Type.String({ description })))

const modes = ['read', 'write'] as const
const transactions = ['all', 'each'] as const
const callers = ['administrator', 'user', 'anonymous'] as const
const levels = ['aal1', 'aal2'] as const

/** SQL of an administrator. PostgreSQL validates the statements. */
export const SqlText = checkedText(maxQueryLength, '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$')

const SqlCaller = component(
  'SqlCaller',
  Type.Object(
    {
      kind: option(callers, 'Default: `administrator`.'),
      userId: Type.Optional(uuidByHandler({ description: 'Required for a user.' })),
      email: Type.Optional(Type.String({ description: 'Email address in the claims.' })),
      emailVerified: Type.Optional(Type.Boolean()),
      aal: option(levels, 'Default: `aal1`.'),
      isAnonymous: Type.Optional(Type.Boolean()),
    },
    { description: 'Identity of the run. Policies apply to users and to requests without a token.' },
  ),
)

const statementMembers = {
  query: requiredByHandler(checkedByHandler({ format: 'sql' }, SqlText)),
  mode: option(
    modes,
    '`read` (default): a read-only role in a read-only transaction. `write`: the login role of the server for owners, `basalt_developer` for developers.',
  ),
  runAs: Type.Optional(SqlCaller),
  parameters: Type.Optional(
    Type.Array(Type.Unknown(), {
      description:
        'Values of `$1` and so on: a text, number, boolean or null, or `{ "value": …, "type": "int8" }`.',
    }),
  ),
  timeoutSeconds: bounded('Seconds for the whole run', runBounds.timeoutSeconds),
}

/** Statement to explain. */
export const ExplainBody = Type.Object({ ...statementMembers, analyze: Type.Optional(Type.Boolean()) })

/** Statements to run. */
export const RunBody = Type.Object({
  ...statementMembers,
  id: Type.Optional(
    uuidByHandler({
      description: 'Id by which the run can be canceled. Default: chosen by the server.',
    }),
  ),
  transaction: option(
    transactions,
    '`all` (default): one transaction for all statements. `each`: one transaction for each statement.',
  ),
  maxRows: bounded('Rows of each statement', runBounds.maxRows),
})
type RunBody = Static<typeof RunBody>

/** @throws AppError invalid_sql_request */
export function readRunRequest(body: RunBody, { role }: Pick<AdminIdentity, 'role'>): RunRequest {
  const { id = randomUUID() } = body
  const mode = readOption('mode', body.mode ?? 'read', modes)
  const transaction = readOption('transaction', body.transaction ?? 'all', transactions)
  if (!isUuid(id)) throw invalid('id must be a UUID')
  const maxRows = readBounded('maxRows', body.maxRows)
  const timeoutSeconds = readBounded('timeoutSeconds', body.timeoutSeconds)
  const { scope, runAs } = readRunAs(body.runAs)
  if (transaction === 'each' && mode === 'read')
    throw invalid('transaction must be all in a read-only run: set mode to write')
  if (transaction === 'each' && scope.kind !== 'unrestricted')
    throw invalid('transaction must be all for a run as another: the role and claims end with it')
  return {
    id: id.toLowerCase(),
    query: readQuery(body.query),
    mode,
    transaction,
    scope,
    runAs,
    isDeveloper: role !== 'owner',
    parameters: readParameters(body.parameters ?? []),
    maxRows,
    timeoutSeconds,
  }
}

function readBounded(name: keyof typeof runBounds, input: number | undefined): number {
  const { fallback, most } = runBounds[name]
  const value = input ?? fallback
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw invalid(`${name} must be a whole number from 1 to ${most}`)
  return value
}

export function readQuery(query = ''): string {
  if (query.trim() === '') throw invalid('query is required')
  if (query.includes('\0')) throw invalid('query must not contain the character U+0000')
  if (query.length > maxQueryLength) throw invalid(`query must have at most ${maxQueryLength} characters`)
  return query
}

function readRunAs(input: RunBody['runAs']): Pick<RunRequest, 'scope' | 'runAs'> {
  const kind = readOption('runAs.kind', input?.kind ?? 'administrator', callers)
  if (kind === 'administrator') return { scope: { kind: 'unrestricted' }, runAs: kind }
  if (kind === 'anonymous') return { scope: { kind: 'anonymous' }, runAs: kind }
  const { userId = '', email = '', emailVerified = false, aal = 'aal1', isAnonymous = false } = input ?? {}
  if (!isUuid(userId)) throw invalid('runAs.userId must be a UUID')
  readOption('runAs.aal', aal, levels)
  if (email.includes('\0')) throw invalid('runAs.email must not contain the character U+0000')
  return {
    scope: {
      kind: 'caller',
      userId: userId.toLowerCase(),
      email,
      isEmailVerified: emailVerified,
      aal,
      isAnonymous,
      sessionId: '',
    },
    runAs: `user ${userId.toLowerCase()}`,
  }
}

function readParameters(input: readonly unknown[]): Parameter[] {
  if (input.length > maxParameters) throw invalid(`parameters must be at most ${maxParameters}`)
  return input.map((parameter, index) => {
    const isPlain = parameter === null || typeof parameter !== 'object' || !('value' in parameter)
    // Only its members are read, and their types are checked.
    const { value, type } = isPlain
      ? { value: parameter, type: undefined }
      : (parameter as { value?: unknown; type?: unknown })
    if (type !== undefined && typeof type !== 'string')
      throw invalid(`parameters[${index}].type must be a text`)
    return { value: readValue(value ?? null, index), type }
  })
}

function readValue(value: unknown, index: number): string | null {
  if (value === null) return null
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value.includes('\0'))
    throw invalid(`parameters[${index}] must be a text, a number, true, false or null`)
  return value
}

function readOption<const Option extends string>(
  name: string,
  input: string,
  options: readonly Option[],
): Option {
  const found = options.find((option) => option === input)
  if (found === undefined) throw invalid(`${name} must be one of: ${options.join(', ')}`)
  return found
}

function invalid(problem: string): Error {
  return sqlRunnerErrors.invalidSqlRequest(problem)
}
