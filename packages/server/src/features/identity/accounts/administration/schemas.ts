import {
  bearerSecurity,
  component,
  noContent,
  pageQuery,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { session, userObject } from '../schemas.ts'

const common = { tags: ['admin'], security: bearerSecurity }
const params = Type.Object({ id: uuidByHandler() })
const nullable = Type.Union([Type.String(), Type.Null()])

const user = component(
  'AdminUser',
  Type.Object({
    ...userObject.properties,
    disabled: Type.Boolean(),
    lastActiveAt: nullable,
    hasPassword: Type.Boolean(),
    factors: Type.Array(Type.String(), { description: '`totp`, `email`, `sms`, `webauthn`.' }),
    providers: Type.Array(Type.String(), { description: 'Sign-in providers that are linked.' }),
  }),
)

/** Read by hand, for the message. */
const flag = (description: string) =>
  Type.Optional(Type.String({ description: `\`true\` or \`false\`: ${description}` }))

export const listUsersSchema = {
  ...common,
  summary: 'Users, the newest first',
  querystring: Type.Object({
    ...pageQuery.properties,
    cursor: Type.Optional(
      Type.String({
        maxLength: 100,
        description: '`nextCursor` of the page before; nothing is counted then.',
      }),
    ),
    skipTotal: flag('totals are not counted, and are -1.'),
    total: Type.Optional(
      Type.String({
        description:
          '`exact`, unless given, or `estimated`: beyond 100,000 users the total is an estimate of PostgreSQL, which costs no count.',
      }),
    ),
    search: Type.Optional(
      Type.String({
        maxLength: 320,
        description:
          'Part of an email, of a phone number or of the name at a provider, or an id. Fewer than three characters are searched among the newest 20,000 users.',
      }),
    ),
    disabled: flag('only users who are disabled, or who are not.'),
    anonymous: flag('only anonymous users, or others.'),
    verified: flag('only users whose email is verified, or is not.'),
    factor: flag('only users with a second factor, or without.'),
    provider: Type.Optional(
      Type.String({ maxLength: 100, description: 'Only users who are linked to this sign-in provider.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(user),
      page: Type.Integer(),
      perPage: Type.Integer(),
      totalItems: Type.Integer({ description: 'Of a search with more than 10,000 matches an estimate.' }),
      isTotalEstimated: Type.Optional(
        Type.Boolean({ description: 'True: `totalItems` and `totalPages` are estimates.' }),
      ),
      totalPages: Type.Integer(),
      nextCursor: Type.Optional(Type.String({ description: 'Where there are more.' })),
      isSearchComplete: Type.Optional(
        Type.Boolean({
          description:
            'False: not every user was considered. The page is sorted from 10,000 matches of more, or ends at `searchedTo`.',
        }),
      ),
      searchedTo: Type.Optional(
        Type.String({
          description:
            'When the oldest user that a bounded search has read was made; `nextCursor` continues there.',
        }),
      ),
    }),
  }),
}

export const getUserSchema = { ...common, summary: 'A user', params, response: responses({ 200: user }) }

export const createUserSchema = {
  ...common,
  summary: 'Make a user',
  description:
    'With `invite` a link to choose a password is mailed, which proves the address; without, the account can be signed in to ' +
    'by what it is given.',
  body: Type.Object({
    email: Type.Optional(Type.String({ maxLength: 320 })),
    phone: Type.Optional(
      Type.String({ maxLength: 64, description: 'International form, such as +12025550123.' }),
    ),
    password: Type.Optional(
      Type.String({ maxLength: 8192, description: 'At least `auth.min_password_length` characters.' }),
    ),
    emailVerified: Type.Optional(Type.Boolean({ description: 'Whether the address counts as verified.' })),
    invite: Type.Optional(Type.Boolean({ description: 'Not together with the others but `email`.' })),
  }),
  response: responses({ 201: user }),
}

export const updateUserSchema = {
  ...common,
  summary: 'Change the address or phone of a user',
  description:
    'Another address is unverified unless `emailVerified` is true. Sessions end with the address they name, and with its ' +
    'verification.',
  params,
  body: Type.Object({
    email: Type.Optional(Type.String({ maxLength: 320 })),
    emailVerified: Type.Optional(Type.Boolean()),
    phone: Type.Optional(
      Type.Union([Type.String({ maxLength: 64 }), Type.Null()], { description: 'Null: none.' }),
    ),
  }),
  response: responses({ 200: user }),
}

export const mailUserSchema = {
  ...common,
  summary: 'Send a user a mail with a link',
  params,
  body: Type.Object({
    purpose: requiredByHandler(
      Type.String({ description: '`password_reset`, `magic_link`, `email_verification` or `invitation`.' }),
    ),
  }),
  response: responses({ 202: Type.Object({ message: Type.String() }) }),
}

export const userSessionsSchema = {
  ...common,
  summary: 'Sessions of a user',
  params,
  response: responses({ 200: Type.Array(session) }),
}

export const endUserSessionSchema = {
  ...common,
  summary: 'End a session of a user',
  params: Type.Object({ id: uuidByHandler(), sessionId: uuidByHandler() }),
  response: responses({ 204: noContent }),
}

export const endUserSessionsSchema = {
  ...common,
  summary: 'End all sessions of a user',
  params,
  response: responses({ 204: noContent }),
}

export const disableUserSchema = {
  ...common,
  summary: 'Lock a user out: sessions end, sign-in is refused',
  params,
  response: responses({ 200: user }),
}

export const enableUserSchema = { ...disableUserSchema, summary: 'Let a disabled user sign in again' }

const action = Type.String({
  description: '`cascade`, `set null`, `set default`, `restrict` or `no action`.',
})

export const deletionSchema = {
  ...common,
  summary: 'What deleting a user would delete, change or be refused by',
  params,
  response: responses({
    200: Type.Object({
      references: Type.Array(
        Type.Object({
          table: Type.String({ description: 'With its schema.' }),
          columns: Type.Array(Type.String()),
          action,
          rows: Type.Union([Type.Integer(), Type.Null()], {
            description:
              'Null: not counted within a second. At most 10,001, which stands for more than 10,000.',
          }),
        }),
        { description: 'Rows that reference the user by foreign key.' },
      ),
      further: Type.Array(Type.Object({ table: Type.String(), references: Type.String(), action }), {
        description: 'Tables whose rows reference rows that would be deleted; not counted.',
      }),
      files: Type.Object({ count: Type.Integer(), bytes: Type.Number() }),
      blockedBy: Type.Array(Type.String(), { description: 'Tables whose rows have to be removed first.' }),
    }),
  }),
}

export const deleteUserSchema = {
  ...common,
  summary: 'Delete a user',
  params,
  response: responses({ 204: noContent }),
}

const aal = Type.Union([Type.Literal('aal1'), Type.Literal('aal2')])

export const impersonateSchema = {
  ...common,
  summary: 'Act as a user for fifteen minutes',
  description:
    'The token opens data and files as the user would see them, never the account, and cannot be refreshed. It has the claim ' +
    '`act` (RFC 8693 §4.1).',
  params,
  body: Type.Object({
    reason: requiredByHandler(Type.String({ maxLength: 500, description: 'Kept in the audit.' })),
    aal: Type.Optional(aal),
  }),
  response: responses({
    201: Type.Object({
      id: Type.String({ format: 'uuid' }),
      token: Type.String({ description: 'Access token, a JWT; shown this once.' }),
      expiresAt: Type.String(),
      user,
    }),
  }),
}

export const listImpersonationsSchema = {
  ...common,
  summary: 'Who acts as whom at the moment',
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          id: Type.String({ format: 'uuid' }),
          userId: Type.String({ format: 'uuid' }),
          email: Type.String({ description: 'Empty when the user has none.' }),
          impersonatedBy: Type.String(),
          reason: Type.String(),
          aal,
          createdAt: Type.String(),
          expiresAt: Type.String(),
        }),
      ),
    }),
  }),
}

export const endImpersonationSchema = {
  ...common,
  summary: 'End an impersonation',
  params,
  response: responses({ 204: noContent }),
}
