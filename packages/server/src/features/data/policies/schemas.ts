import { type Answered, checkedByHandler, component, exactlyOne, viewReason } from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'

const closed = { additionalProperties: false }

/** Fields that each kind of caller accepts, for the API document. They are validated by hand, for the message. */
const fieldsByKind = {
  if: { properties: { kind: { const: 'user' } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: exactlyOne({ required: ['id'] }, { required: ['email'] }),
  else: {
    if: { properties: { kind: { const: 'claims' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['userId'] },
    else: { not: { required: ['id', 'email'] } },
  },
}

/** Caller identified by user, key, client or claims. */
export const CallerReference = component(
  'CallerReference',
  checkedByHandler(
    fieldsByKind,
    Type.Object(
      {
        kind: Type.Enum(['user', 'key', 'client', 'anonymous', 'claims'], {
          description:
            '`user`: by `id` or `email`. `key`: the API key `id`. `client`: the OAuth client `clientId`, for the user of `id` or `email`, or for itself. `anonymous`: without a token. `claims`: any claims, of `userId`.',
        }),
        id: Type.Optional(Type.String({ maxLength: 100 })),
        email: Type.Optional(checkedByHandler({ format: 'email' }, Type.String({ maxLength: 1024 }))),
        aal: Type.Optional(Type.Enum(['aal1', 'aal2'], { description: 'Default: `aal1`.' })),
        sessionId: Type.Optional(checkedByHandler({ format: 'uuid' }, Type.String({ maxLength: 100 }))),
        clientId: Type.Optional(Type.String({ maxLength: 2048 })),
        userId: Type.Optional(checkedByHandler({ format: 'uuid' }, Type.String({ maxLength: 100 }))),
        scope: Type.Optional(
          Type.Enum(['*', 'readonly', 'readwrite'], {
            description: 'Scope of a client. Default: the granted scope.',
          }),
        ),
        tables: Type.Optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 1000 })),
        emailVerified: Type.Optional(Type.Boolean()),
        isAnonymous: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
  ),
)
export type CallerReference = Static<typeof CallerReference>

/** Number of rows that are examined unless a request gives another. */
export const defaultRows = { explain: 20, compare: 50, save: 1 } as const
/** Maximum number of rows of an explanation that would write, since each is a request of its own. */
export const mostWrittenRows = 10
/** Maximum number of rows of a file of cases, which should test one thing. */
export const mostSavedRows = 10

const limit = (description: string) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: 50, description: `Maximum number of rows. ${description}` }),
  )

const record = Type.Object({}, { additionalProperties: true })
const rowsOf = {
  table: Type.String({ minLength: 1, maxLength: 200, description: 'A collection.' }),
  ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 2000 }), {
      maxItems: 50,
      description: 'Rows by their primary keys, as in the path of a record.',
    }),
  ),
  filter: Type.Optional(
    Type.String({
      maxLength: 10_000,
      description: 'Rows by a filter, as in a list. Without ids and filter, the first rows.',
    }),
  ),
}

export const ExplainRequest = component(
  'PolicyExplanation',
  Type.Object(
    {
      as: CallerReference,
      ...rowsOf,
      limit: limit(`Default: ${defaultRows.explain}. Update and delete use the first ${mostWrittenRows}.`),
      action: Type.Optional(
        Type.Enum(['select', 'insert', 'update', 'delete'], { description: 'Default: `select`.' }),
      ),
      values: Type.Optional(
        Type.Union([record, Type.Array(record, { maxItems: mostWrittenRows })], {
          description: 'Record or records of an insert; members that an update changes.',
        }),
      ),
      plan: Type.Optional(
        Type.Enum(['none', 'plan', 'analyze'], {
          description: 'Plan of the statement to include; `analyze` runs it. Default: `none`.',
        }),
      ),
      reason: viewReason,
    },
    closed,
  ),
)
export type ExplainRequest = Static<typeof ExplainRequest>

const verdict = {
  value: Type.Union([Type.Boolean(), Type.Enum(['error']), Type.Null()], {
    description: 'Value of an expression for a row.',
  }),
  message: Type.Optional(Type.String({ description: 'Message of an error.' })),
  sqlState: Type.Optional(Type.String()),
}
const outcome = Type.Optional(
  Type.Union([Type.Boolean(), Type.Enum(['error'])], {
    description: 'Combined verdict of the policies; absent where there is no row to evaluate.',
  }),
)
const failure = Type.Object({ message: Type.String(), sqlState: Type.String() })
const answer = component(
  'AccessResponse',
  Type.Object(
    {
      status: Type.Integer(),
      error: Type.Optional(Type.String()),
      message: Type.Optional(Type.String()),
      data: Type.Optional(record),
    },
    { description: 'Response of the data API.' },
  ),
)
const nullableText = Type.Union([Type.String(), Type.Null()])
const plan = component(
  'AccessPlan',
  Type.Object({
    plan: Type.Optional(Type.Unknown({ description: 'Plan as EXPLAIN (FORMAT JSON) returns it.' })),
    error: Type.Optional(failure),
  }),
)

export const Explanation = component(
  'AccessExplanation',
  Type.Object({
    caller: Type.Object({
      label: Type.String(),
      kind: Type.String(),
      role: Type.Optional(Type.String()),
      settings: Type.Object({}, { additionalProperties: Type.String() }),
      grant: Type.Union([
        Type.Object({
          mayWrite: Type.Boolean(),
          tables: Type.Union([Type.Array(Type.String()), Type.Null()], {
            description: 'Tables of the grant; null for all.',
          }),
        }),
        Type.Null(),
      ]),
    }),
    table: Type.Object({
      collection: Type.String(),
      schema: Type.String(),
      name: Type.String(),
      kind: Type.String(),
      rlsEnabled: Type.Boolean(),
      primaryKey: Type.Array(Type.String()),
    }),
    action: Type.Enum(['select', 'insert', 'update', 'delete']),
    gates: Type.Array(
      Type.Object({
        name: Type.String(),
        verdict: Type.Enum(['passes', 'stops']),
        sentence: Type.String(),
        refusal: Type.Optional(
          Type.Object(
            { status: Type.Integer(), error: Type.String(), message: Type.String() },
            { description: 'Response of the gate that stops the request before a statement is sent.' },
          ),
        ),
      }),
      { description: 'Gates before the policies.' },
    ),
    stages: Type.Array(
      Type.Object({
        name: Type.String(),
        command: Type.String(),
        clause: Type.Enum(['using', 'check']),
        row: Type.Enum(['before', 'after'], {
          description: '`before`: the row as it is. `after`: the row as the write would make it.',
        }),
      }),
      { description: 'Tests that PostgreSQL makes, all of which must pass.' },
    ),
    policies: Type.Array(
      Type.Object({
        name: Type.String(),
        command: Type.Enum(['ALL', 'SELECT', 'INSERT', 'UPDATE', 'DELETE']),
        permissive: Type.Boolean(),
        roles: Type.Array(Type.String()),
        using: nullableText,
        check: nullableText,
        isForCaller: Type.Boolean(),
        stages: Type.Array(
          Type.Object({
            stage: Type.Integer({ description: 'Index of a stage.' }),
            place: Type.Integer({ description: 'Index among its verdicts.' }),
          }),
        ),
      }),
    ),
    reads: Type.Array(
      Type.Object({
        policy: Type.String(),
        schema: Type.String(),
        name: Type.String(),
        rlsEnabled: Type.Boolean(),
        visible: Type.Optional(
          Type.Integer({ description: 'Rows that are visible to the caller, up to a limit.' }),
        ),
        isMore: Type.Boolean(),
        error: Type.Optional(failure),
        sentence: Type.String(),
      }),
      { description: 'Tables that the policies read.' },
    ),
    rows: Type.Array(
      Type.Object({
        id: Type.Optional(Type.String()),
        shown: Type.Object({}, { additionalProperties: nullableText }),
        stages: Type.Array(Type.Object({ outcome, verdicts: Type.Array(Type.Object(verdict)) })),
        allowed: outcome,
        actual: Type.Optional(
          Type.Boolean({ description: 'True if the action happened; absent where something else decided.' }),
        ),
        answer: Type.Optional(answer),
        agrees: Type.Optional(
          Type.Boolean({ description: 'True if both agree; absent where one is unknown.' }),
        ),
        sentence: Type.String(),
      }),
    ),
    isCut: Type.Boolean({ description: 'True if rows were left out because all together are too large.' }),
    answer: Type.String(),
    statement: Type.Optional(
      Type.Object({
        text: Type.Optional(Type.String()),
        values: Type.Optional(Type.Array(nullableText)),
        outcome: answer,
      }),
    ),
    plans: Type.Optional(Type.Object({ withPolicies: plan, withoutPolicies: plan })),
    psql: Type.String({ description: 'Script that shows the same in psql.' }),
    remains: Type.Array(Type.String(), { description: 'Effects that are not undone.' }),
  }),
)
export type Explanation = Answered<typeof Explanation>

export const PartsRequest = Type.Object(
  {
    ...ExplainRequest.properties,
    policy: Type.String({ minLength: 1, maxLength: 200 }),
    stage: Type.Integer({
      minimum: 0,
      maximum: 3,
      description: 'Index among the stages of the explanation.',
    }),
  },
  closed,
)
export type PartsRequest = Static<typeof PartsRequest>

export const CompareRequest = Type.Object(
  {
    ...rowsOf,
    limit: limit(`Default: ${defaultRows.compare}.`),
    action: Type.Optional(
      Type.Enum(['select', 'insert', 'update', 'delete'], {
        description:
          'Default: `select`. `insert` and `update` examine rows as they are: whether the caller might add such a row, or store it unchanged.',
      }),
    ),
    as: Type.Optional(
      Type.Array(CallerReference, {
        minItems: 1,
        maxItems: 20,
        description: 'Default: some users and a request without a token.',
      }),
    ),
    policy: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 63 }),
        command: Type.Optional(
          Type.Enum(['ALL', 'SELECT', 'INSERT', 'UPDATE', 'DELETE'], {
            description: 'Default for a new policy: `SELECT`.',
          }),
        ),
        permissive: Type.Optional(
          Type.Boolean({
            description: 'False for a restrictive policy. Default for a new policy: true.',
          }),
        ),
        roles: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
            minItems: 1,
            maxItems: 100,
            description: 'Roles of the policy. Default for a new policy: `public`, which is every role.',
          }),
        ),
        using: Type.Optional(Type.String({ minLength: 1, maxLength: 100_000 })),
        check: Type.Optional(
          Type.String({ minLength: 1, maxLength: 100_000, description: 'Expression of WITH CHECK.' }),
        ),
        drop: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
  },
  closed,
)
export type CompareRequest = Static<typeof CompareRequest>

export const SaveRequest = Type.Object(
  {
    ...ExplainRequest.properties,
    limit: limit(`Default: ${defaultRows.save}. The first ${mostSavedRows} rows are saved.`),
    name: Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,79}$',
      description: 'Name of the file, without `.toml`: lower-case letters, digits, `-` and `_`.',
    }),
    expect: Type.Optional(
      Type.Enum(['present', 'allowed', 'refused'], {
        description: 'Expectation of the case. Default: the present outcome.',
      }),
    ),
    save: Type.Optional(
      Type.Boolean({ description: 'True writes the file into the folder `project.policies`.' }),
    ),
  },
  closed,
)
export type SaveRequest = Static<typeof SaveRequest>

/** Value of a part of an expression for a row, with the parts that it combines. */
export const ExpressionPart = component(
  'ExpressionPart',
  Type.Object({
    ...verdict,
    text: Type.String(),
    operator: Type.Optional(Type.Enum(['and', 'or', 'not'])),
    terms: Type.Array(record, { description: 'Parts of an operator, in the same form.' }),
    sides: Type.Array(
      Type.Object({
        expression: Type.String(),
        text: Type.Optional(nullableText),
        message: Type.Optional(Type.String()),
      }),
      { description: 'Sides of a comparison.' },
    ),
  }),
)

/** Difference that a policy change makes for callers. */
export const Comparison = component(
  'PolicyComparison',
  Type.Object({
    policy: Type.String(),
    rows: Type.Integer(),
    callers: Type.Array(
      Type.Object({
        label: Type.String(),
        stopped: Type.Optional(Type.String({ description: 'Gate that stops the caller before any policy.' })),
        shown: Type.Array(nullableText, { description: 'Rows that only the changed policy permits.' }),
        hidden: Type.Array(nullableText, { description: 'Rows that the changed policy no longer permits.' }),
        kept: Type.Integer({ description: 'Number of rows that both policies permit.' }),
        absent: Type.Integer({ description: 'Number of rows that neither policy permits.' }),
        errors: Type.Array(Type.String(), { description: 'Errors of rows that could not be decided.' }),
      }),
    ),
  }),
)
export type Comparison = Answered<typeof Comparison>

/** File of cases for `basalt policy test`. */
export const SavedCase = component(
  'PolicyCaseFile',
  Type.Object({
    name: Type.String(),
    content: Type.String({ description: 'Content of the file in TOML.' }),
    path: Type.Union([Type.String(), Type.Null()], {
      description: 'Path of the file in the project; null if it was not written.',
    }),
  }),
)
export type SavedCase = Answered<typeof SavedCase>
