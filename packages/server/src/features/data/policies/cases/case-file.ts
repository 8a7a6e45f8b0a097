import { createHash } from 'node:crypto'
import { parse as parseToml, TomlError } from 'smol-toml'
import { Errors } from 'typebox/schema'
import { OperatorError } from '../../../../lib/errors.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { type Static, Type } from '../../../../lib/type.ts'

const text = Type.String({ minLength: 1 })
const values = Type.Record(Type.String(), Type.Unknown())
const closed = { additionalProperties: false }

const claims = {
  email: Type.Optional(Type.String()),
  email_verified: Type.Optional(Type.Boolean()),
  is_anonymous: Type.Optional(Type.Boolean()),
}

const user = Type.Object({ id: Type.Optional(Type.String({ format: 'uuid' })), ...claims }, closed)

const key = Type.Object(
  {
    /** User that the key belongs to. */
    user: text,
    scope: Type.Optional(Type.Enum(['*', 'readonly', 'readwrite'])),
    tables: Type.Optional(Type.Array(text)),
  },
  closed,
)

const policyCase = Type.Object(
  {
    name: text,
    /** User or key of the file, or `anonymous` for a request without a token. */
    as: text,
    aal: Type.Optional(Type.Enum(['aal1', 'aal2'])),
    claims: Type.Optional(Type.Object(claims, closed)),
    // One of these is required: the operation, with the collection or procedure.
    list: Type.Optional(text),
    get: Type.Optional(text),
    create: Type.Optional(text),
    update: Type.Optional(text),
    delete: Type.Optional(text),
    call: Type.Optional(text),
    /** Record id, for get, update and delete. */
    id: Type.Optional(Type.Union([text, Type.Integer()])),
    filter: Type.Optional(text),
    /** Values of create and update; arguments of call. */
    values: Type.Optional(values),
    // Expectations. Without one, success is expected.
    rows: Type.Optional(Type.Array(values)),
    count: Type.Optional(Type.Integer({ minimum: 0 })),
    row: Type.Optional(values),
    result: Type.Optional(Type.Unknown()),
    refused: Type.Optional(Type.Boolean()),
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
  },
  closed,
)

const caseFile = Type.Object(
  {
    setup: Type.Optional(Type.String()),
    users: Type.Optional(Type.Record(Type.String(), user)),
    keys: Type.Optional(Type.Record(Type.String(), key)),
    case: Type.Optional(Type.Array(policyCase)),
  },
  closed,
)

export type PolicyCase = Static<typeof policyCase>
export type CaseUser = Static<typeof user>

export interface CaseFile {
  readonly name: string
  /** Setup statements with the ids of users filled in. */
  readonly setup: string
  /** Users of the file; each has an id. */
  readonly users: ReadonlyMap<string, Static<typeof user> & { readonly id: string }>
  readonly keys: ReadonlyMap<string, Static<typeof key>>
  readonly cases: readonly PolicyCase[]
}

const verbs = ['list', 'get', 'create', 'update', 'delete', 'call'] as const
export type Verb = (typeof verbs)[number]

/** Parses a file of cases. Pure. @throws OperatorError that names the position and what was expected */
export function parseCaseFile(name: string, content: string): CaseFile {
  const document = readToml(name, content)
  const [, [problem]] = Errors(caseFile, document)
  if (problem !== undefined) throw new OperatorError(`${name}: ${describeProblem(problem)}`, { exitCode: 2 })
  // The document was checked above.
  const file = document as Static<typeof caseFile>
  const users = new Map(
    Object.entries(file.users ?? {}).map(([each, entry]) => [
      each,
      { ...entry, id: entry.id ?? idOf(name, each) },
    ]),
  )
  const keys = new Map(Object.entries(file.keys ?? {}))
  const cases = file.case ?? []
  for (const [each, { user: owner }] of keys) {
    if (!users.has(owner)) throw fault(name, `keys.${each}.user`, owner, [...users.keys()])
    if (users.has(each)) throw new OperatorError(`${name}: ${each} is a user and a key`, { exitCode: 2 })
  }
  const actors = ['anonymous', ...users.keys(), ...keys.keys()]
  for (const each of cases) {
    const position = `case "${each.name}"`
    if (!actors.includes(each.as)) throw fault(name, `${position}: as`, each.as, actors)
    verbOf(name, each)
  }
  return { name, setup: bindUsers(name, file.setup ?? '', users), users, keys, cases }
}

/** Returns the operation of a case. @throws OperatorError when there is none, or several */
export function verbOf(
  file: string,
  policyCase: PolicyCase,
): { readonly verb: Verb; readonly target: string } {
  const found = verbs.flatMap((verb) => {
    const target = policyCase[verb]
    return target === undefined ? [] : [{ verb, target }]
  })
  const [only] = found
  const position = `${file}: case "${policyCase.name}"`
  if (only === undefined || found.length > 1) {
    throw new OperatorError(`${position}: expected one of ${verbs.join(', ')}`, { exitCode: 2 })
  }
  const needsId = ['get', 'update', 'delete'].includes(only.verb)
  if (needsId !== (policyCase.id !== undefined)) {
    throw new OperatorError(`${position}: ${needsId ? 'id is required' : `id is not for ${only.verb}`}`, {
      exitCode: 2,
    })
  }
  return only
}

function readToml(name: string, content: string): unknown {
  try {
    // Dates become the texts that they are in JSON.
    return JSON.parse(JSON.stringify(parseToml(content)))
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = 'not TOML'] = error.message.replace('Invalid TOML document: ', '').split('\n')
    throw new OperatorError(`${name}:${error.line}: ${reason}`, { exitCode: 2 })
  }
}

function describeProblem(problem: ReturnType<typeof Errors>[1][number]): string {
  const position = problem.instancePath.slice(1).replaceAll('/', '.')
  // TypeBox says this of a key that the schema does not have.
  const message = problem.message === 'schema is false' ? 'is no key of these files' : problem.message
  return `${position === '' ? '' : `${position} `}${message}`
}

function fault(file: string, position: string, name: string, known: readonly string[]): OperatorError {
  return new OperatorError(
    `${file}: ${position}: "${name}" is none of ${known.join(', ')}${suggestion(name, known)}`,
    {
      exitCode: 2,
    },
  )
}

/** Returns an id that is the same in every run, and different in every file. */
function idOf(file: string, user: string): string {
  const hash = createHash('sha256').update(`${file} ${user}`).digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}

/**
 * Replaces `:'alice'` by the user's id, as psql does with its variables. @throws OperatorError for an unknown name
 */
function bindUsers(name: string, setup: string, users: CaseFile['users']): string {
  return setup.replaceAll(/:'(\w+)'/g, (_, user: string) => {
    const found = users.get(user)
    if (found === undefined) throw fault(name, 'setup', user, [...users.keys()])
    return `'${found.id}'`
  })
}

/** Replaces texts `:alice` by the user's id. Pure. */
export function bindValues(value: unknown, users: CaseFile['users']): unknown {
  if (typeof value === 'string') return (value.startsWith(':') && users.get(value.slice(1))?.id) || value
  if (Array.isArray(value)) return value.map((item) => bindValues(item, users))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, bindValues(item, users)]))
}

/** File of cases to write: the statements of its setup, its users, keys and cases. */
export interface NewCaseFile {
  readonly comment: readonly string[]
  readonly setup: readonly string[]
  readonly users: Readonly<Record<string, CaseUser>>
  readonly keys?: Readonly<Record<string, Static<typeof key>>>
  readonly cases: readonly Readonly<PolicyCase>[]
}

/** Renders a file that {@link parseCaseFile} reads. Pure. */
export function renderCaseFile({ comment, setup, users, keys = {}, cases }: NewCaseFile): string {
  const sections = [
    comment.map((line) => `# ${line.replaceAll(/\p{Cc}/gu, ' ')}`).join('\n'),
    ...(setup.length === 0 ? [] : [`setup = """\n${setup.map(escapeLines).join('\n')}\n"""`]),
    ...Object.entries(users).map(([name, user]) => renderTable(`[users.${name}]`, { ...user })),
    ...Object.entries(keys).map(([name, key]) => renderTable(`[keys.${name}]`, key)),
    ...cases.map((each) => renderTable('[[case]]', each)),
  ]
  return `${sections.join('\n\n')}\n`
}

function renderTable(header: string, fields: object): string {
  const lines = Object.entries(fields).map(
    ([name, value]: [string, unknown]) => `${renderKey(name)} = ${renderValue(value)}`,
  )
  return [header, ...lines].join('\n')
}

function renderKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : renderText(name)
}

/** Renders a value. TOML has no null, so such members are left out, as in a body that does not name them. */
function renderValue(value: unknown): string {
  if (typeof value === 'string') return renderText(value)
  if (Array.isArray(value))
    return `[${value
      .filter((each) => each !== null)
      .map(renderValue)
      .join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return `{ ${members.map(([name, member]) => `${renderKey(name)} = ${renderValue(member)}`).join(', ')} }`
}

/** Renders a basic string of TOML. It has the escapes of JSON; only DEL must be escaped in addition. */
function renderText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f')
}

/** Escapes a multi-line basic string. Quotes stay unescaped, except for three in a row. */
function escapeLines(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('"""', '""\\"')
    .replaceAll(/(?![\t\n])\p{Cc}/gu, (found) => renderText(found).slice(1, -1))
}
