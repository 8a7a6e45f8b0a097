import {
  bearerSecurity,
  noContent,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['materialized views']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })
/** Its form is checked by hand, for the message. */
const params = Type.Object({ id: uuidByHandler({ description: 'UUID.' }) })
const refreshMode = Type.String({
  description:
    '`standard` blocks readers while it runs; `concurrent` does not, and needs a unique index and a populated view.',
})

const registration = Type.Object({
  id: Type.String(),
  schemaName: Type.String(),
  viewName: Type.String(),
  refreshMode,
  lastRefreshAt: Type.Union([timestamp, Type.Null()], { description: 'null until the first refresh.' }),
  lastRefreshDurationMs: Type.Union([Type.Integer(), Type.Null()]),
  lastRefreshStatus: Type.Union([Type.String({ description: 'success or error' }), Type.Null()]),
  lastRefreshError: Type.Union([Type.String(), Type.Null()]),
  createdAt: timestamp,
  updatedAt: timestamp,
})

export const listMatviewsSchema = {
  tags,
  security,
  summary: 'List registered materialized views',
  response: responses({ 200: Type.Object({ items: Type.Array(registration), count: Type.Integer() }) }),
}

export const registerMatviewSchema = {
  tags,
  security,
  summary: 'Register a materialized view',
  description: 'It must exist.',
  body: Type.Object({
    viewName: requiredByHandler(Type.String()),
    schema: Type.Optional(Type.String({ description: 'public unless given.' })),
    refreshMode: Type.Optional(refreshMode),
  }),
  response: responses({ 201: registration }),
}

export const getMatviewSchema = {
  tags,
  security,
  summary: 'Get a registered materialized view',
  params,
  response: responses({ 200: registration }),
}

export const updateMatviewSchema = {
  tags,
  security,
  summary: 'Change how a materialized view is refreshed',
  params,
  body: Type.Object({ refreshMode: requiredByHandler(refreshMode) }),
  response: responses({ 200: registration }),
}

export const deleteMatviewSchema = {
  tags,
  security,
  summary: 'Forget a materialized view',
  description: 'The view itself stays.',
  params,
  response: responses({ 204: noContent }),
}

export const refreshMatviewSchema = {
  tags,
  security,
  summary: 'Refresh a materialized view',
  description: 'Answers when it is done; continues when the caller does not wait for that.',
  params,
  response: responses({ 200: Type.Object({ registration, durationMs: Type.Integer() }) }),
}
