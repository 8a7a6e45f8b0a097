import { limitParameter } from '../../../http/requests/filters.ts'
import { bearerSecurity, component, noContent, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['SQL']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })
const text = (description: string) => Type.Optional(Type.String({ description }))

interface Bounds {
  readonly fallback: number
  readonly most: number
}

/** Of one run. */
export const runBounds = {
  timeoutSeconds: { fallback: 30, most: 600 },
  maxRows: { fallback: 1000, most: 10_000 },
} as const satisfies Record<string, Bounds>

const bounded = (what: string, { fallback, most }: Bounds) =>
  Type.Optional(Type.Integer({ description: `${what}; ${fallback} unless given, at most ${most}.` }))

const runAs = Type.Optional(
  component(
    'SqlCaller',
    Type.Object(
      {
        kind: text('`administrator` (unless given), `user` or `anonymous`.'),
        userId: text('UUID; required for a user.'),
        email: text('Of the claims.'),
        emailVerified: Type.Optional(Type.Boolean()),
        aal: text('`aal1` unless given, or `aal2`.'),
        isAnonymous: Type.Optional(Type.Boolean()),
      },
      { description: 'As whom: policies apply to users and to requests without a token.' },
    ),
  ),
)

const statementBody = {
  query: requiredByHandler(Type.String({ description: 'At most a million characters.' })),
  mode: text(
    '`read` (unless given): a role that may only read, in a transaction that cannot write. `write`: as the login role of the server.',
  ),
  runAs,
  parameters: Type.Optional(
    Type.Array(Type.Unknown(), {
      description:
        'Values of `$1` and so on: a text, number, boolean or null, or `{ "value": …, "type": "int8" }`.',
    }),
  ),
  timeoutSeconds: bounded('Of the whole run', runBounds.timeoutSeconds),
}

const runBody = Type.Object({
  ...statementBody,
  id: text('UUID, to cancel the run by; chosen by the server unless given.'),
  transaction: text(
    '`all` (unless given): one transaction for all statements. `each`: every statement by itself.',
  ),
  maxRows: bounded('Of each statement', runBounds.maxRows),
})

const notice = component(
  'SqlNotice',
  Type.Object({
    statement: Type.Integer(),
    message: Type.String(),
    severity: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
    hint: Type.Optional(Type.String()),
  }),
)

const answer = component(
  'SqlResult',
  Type.Object({
    id: Type.String(),
    columns: Type.Array(Type.String()),
    types: Type.Array(Type.String()),
    rows: Type.Array(Type.Array(Type.Unknown())),
    rowCount: Type.Integer({ description: 'Rows answered or changed.' }),
    durationMs: Type.Number(),
    command: Type.Union([Type.String(), Type.Null()], { description: 'Such as `INSERT 0 3`.' }),
    hasMore: Type.Boolean({
      description: 'Whether there are more rows than `maxRows` or than fit the answer.',
    }),
    statements: Type.Integer(),
    notices: Type.Array(notice),
  }),
)

export const runSchema = {
  tags,
  security,
  summary: 'Run SQL',
  description:
    'Answers the rows of the last statement. With `Accept: application/x-ndjson` each statement is answered when it has finished, a JSON object per line: `start`, `result`, `notice`, `error`, `end`.',
  body: runBody,
  response: responses({
    200: {
      description: 'The answer of the last statement, or a line per event.',
      content: {
        'application/json': { schema: answer },
        'application/x-ndjson': { schema: Type.String() },
      },
    },
  }),
}

export const explainSchema = {
  tags,
  security,
  summary: 'Show the plan of a statement',
  description: 'With `analyze` the statement runs; what it changes is undone.',
  body: Type.Object({ ...statementBody, analyze: Type.Optional(Type.Boolean()) }),
  response: responses({
    200: Type.Object({
      plan: Type.Unknown({ description: 'As EXPLAIN (FORMAT JSON) answers it.' }),
      durationMs: Type.Integer(),
    }),
  }),
}

/** Of a list, whose texts have their first 300 characters. */
const cut = {
  queryLength: Type.Integer({ description: 'Characters of the whole query.' }),
  isCut: Type.Boolean({
    description: 'Whether the query by its id is longer than here; of a run, or its error.',
  }),
}
const cursor = text('`nextCursor` of the page before.')
const nextCursor = text('Absent on the last page.')

const run = component(
  'SqlRun',
  Type.Object({
    id: Type.String(),
    query: Type.String({ description: 'Passwords are `[redacted]`.' }),
    ...cut,
    mode: Type.Enum(['read', 'write']),
    runAs: Type.String(),
    status: Type.Enum(['running', 'succeeded', 'failed', 'canceled', 'interrupted'], {
      description: '`interrupted` when its server has died.',
    }),
    error: Type.Union([Type.String(), Type.Null()]),
    statements: Type.Integer(),
    rowCount: Type.Union([Type.Integer(), Type.Null()]),
    durationMs: Type.Union([Type.Integer(), Type.Null()]),
    startedAt: timestamp,
  }),
)

/** Of runs and of saved queries. */
export const pageLimit = limitParameter(50, 200)

export const listRunsSchema = {
  tags,
  security,
  summary: 'List runs of SQL',
  description: 'The last thousand, newest first, with the first 300 characters of query and error.',
  querystring: Type.Object({
    q: text('A part of the query.'),
    limit: pageLimit.schema,
    cursor,
  }),
  response: responses({ 200: Type.Object({ items: Type.Array(run), nextCursor }) }),
}

const params = Type.Object({ id: Type.String({ description: 'UUID.' }) })

export const getRunSchema = {
  tags,
  security,
  summary: 'Get a run of SQL with the whole of its query and error',
  params,
  response: responses({ 200: run }),
}

export const cancelSchema = {
  tags,
  security,
  summary: 'Cancel a run of SQL',
  description: 'On whichever node it runs.',
  params,
  response: responses({ 202: Type.Object({ id: Type.String() }) }),
}

const savedMembers = {
  id: Type.String(),
  name: Type.String({ description: 'Folders are the parts before its slashes.' }),
  query: Type.String(),
  version: Type.Integer(),
  createdAt: timestamp,
  updatedAt: timestamp,
}
const saved = component('SavedSql', Type.Object(savedMembers))

export const listSavedSchema = {
  tags,
  security,
  summary: 'List saved queries',
  description: 'By name, with the first 300 characters of each.',
  querystring: Type.Object({
    q: text('A part of the name.'),
    limit: pageLimit.schema,
    cursor,
  }),
  response: responses({
    200: Type.Object({ items: Type.Array(Type.Object({ ...savedMembers, ...cut })), nextCursor }),
  }),
}

export const getSavedSchema = {
  tags,
  security,
  summary: 'Get a saved query',
  params,
  response: responses({ 200: saved }),
}

export const saveSchema = {
  tags,
  security,
  summary: 'Save a query',
  body: Type.Object({
    name: requiredByHandler(Type.String({ description: 'At most 200 characters.' })),
    query: requiredByHandler(Type.String()),
  }),
  response: responses({ 201: saved }),
}

export const changeSavedSchema = {
  tags,
  security,
  summary: 'Change a saved query',
  params,
  body: Type.Object({
    name: text('Another name.'),
    query: text('Another query.'),
    version: requiredByHandler(Type.Integer({ description: 'As read. Another one is a conflict.' })),
  }),
  response: responses({ 200: saved }),
}

export const forgetSavedSchema = {
  tags,
  security,
  summary: 'Delete a saved query',
  params,
  response: responses({ 204: noContent }),
}

export const listSchemasSchema = {
  tags,
  security,
  summary: 'List schemas for completion',
  response: responses({ 200: Type.Object({ items: Type.Array(Type.String()) }) }),
}

export const nameSchemaSchema = {
  tags,
  security,
  summary: 'Name what a schema holds, for completion',
  params: Type.Object({ schema: Type.String() }),
  response: responses({
    200: Type.Object({
      schema: Type.String(),
      relations: Type.Array(
        Type.Object({ name: Type.String(), kind: Type.String(), columns: Type.Array(Type.String()) }),
      ),
      functions: Type.Array(Type.String()),
    }),
  }),
}
