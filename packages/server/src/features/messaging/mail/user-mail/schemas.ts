import { limitParameter, offsetSchema } from '../../../../http/requests/filters.ts'
import { bearerSecurity, offsetPageOf, requiredByHandler, responses } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

const common = { tags: ['mail'], security: bearerSecurity }
const nullable = Type.Union([Type.String(), Type.Null()])

export const sendSchema = {
  ...common,
  summary: 'Send a mail to one or several recipients',
  description:
    'Each recipient gets a mail of its own. Either `templateKey` with `variables`, or `subject` with `html` or `text` or both. Programs need the action `email:send`; templates of the system (`auth.…`) are refused.',
  body: Type.Object({
    to: requiredByHandler(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description: 'An address, or a list of at most `email.policy.max_recipients_per_request`.',
      }),
    ),
    from: Type.Optional(
      Type.String({
        description: 'The address of `email.from` or of `email.policy.allowed_from_addresses`.',
      }),
    ),
    subject: Type.Optional(Type.String({ description: 'At most 1000 characters.' })),
    html: Type.Optional(
      Type.String({ description: 'At most 256000 characters; made of the text unless given.' }),
    ),
    text: Type.Optional(
      Type.String({ description: 'At most 256000 characters; made of the HTML unless given.' }),
    ),
    templateKey: Type.Optional(Type.String()),
    variables: Type.Optional(Type.Record(Type.String(), Type.String())),
  }),
  response: responses({
    200: Type.Object({
      sent: Type.Integer(),
      failed: Type.Integer(),
      errors: Type.Array(Type.Object({ to: Type.String(), error: Type.String() })),
    }),
  }),
}

export const sentLimit = limitParameter(50, 500)

export const listSchema = {
  ...common,
  summary: 'Mails that users and programs sent, the newest first',
  querystring: Type.Object({
    user_id: Type.Optional(Type.String()),
    limit: sentLimit.schema,
    offset: offsetSchema,
  }),
  response: responses({
    200: offsetPageOf(
      Type.Object({
        id: Type.String({ format: 'uuid' }),
        user_id: nullable,
        api_key_id: nullable,
        from: Type.String(),
        to: Type.String(),
        subject: Type.String(),
        template_key: nullable,
        status: Type.String({ description: 'pending, sent or failed' }),
        error_message: nullable,
        created_at: Type.String(),
      }),
    ),
  }),
}
