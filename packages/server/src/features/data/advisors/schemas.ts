import { bearerSecurity, component, noContent, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { groups, severities } from './advice.ts'

const tags = ['operations']
const security = bearerSecurity
const params = Type.Object({ id: Type.String() })
const nullable = (description?: string) =>
  Type.Union([Type.String(), Type.Null()], description === undefined ? {} : { description })

const advice = component(
  'Advice',
  Type.Object({
    id: Type.String({ description: 'Of the rule and its object; the same on every node.' }),
    rule: Type.String(),
    group: Type.String({ description: groups.join(', ') }),
    severity: Type.Enum(severities),
    title: Type.String(),
    object: Type.String(),
    detail: nullable(),
    explanation: Type.String(),
    statement: nullable('SQL that resolves the advice.'),
    command: nullable('A command instead.'),
    docs: Type.String({ description: 'A page that the server serves.' }),
    dismissal: Type.Union([
      Type.Object({
        reason: nullable(),
        by: Type.String(),
        at: Type.String(),
        until: nullable('null: for good.'),
      }),
      Type.Null(),
    ]),
  }),
)

export const listAdviceSchema = {
  tags,
  security,
  summary: 'List advice about access, indexes and health of the database',
  description: 'The gravest first; at most 2,000. `counts` leaves out what was dismissed.',
  response: responses({
    200: Type.Object({
      items: Type.Array(advice),
      count: Type.Integer({ description: 'All of them.' }),
      counts: Type.Object({
        error: Type.Integer(),
        warning: Type.Integer(),
        info: Type.Integer(),
        dismissed: Type.Integer(),
      }),
    }),
  }),
}

export const dismissAdviceSchema = {
  tags,
  security,
  summary: 'Dismiss advice',
  params,
  body: Type.Object({
    reason: Type.Optional(nullable('At most 500 characters.')),
    until: Type.Optional(nullable('RFC 3339; for good unless given.')),
  }),
  response: responses({ 200: advice }),
}

export const restoreAdviceSchema = {
  tags,
  security,
  summary: 'Show dismissed advice again',
  params,
  response: responses({ 204: noContent }),
}
