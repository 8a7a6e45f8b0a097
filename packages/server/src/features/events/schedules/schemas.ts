import {
  bearerSecurity,
  component,
  listOf,
  noContent,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { maxAttemptsSchema, payloadSchema } from '../jobs/index.ts'

const tags = ['jobs']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })
/** Its form is checked by hand, for the message. */
const params = Type.Object({ id: uuidByHandler({ description: 'UUID.' }) })

const time = {
  cronExpr: Type.String({
    description: 'Minute, hour, day of the month, month, weekday: `*/15 9-17 * * mon-fri`.',
  }),
  timezone: Type.String({ description: 'IANA name, such as `Europe/Berlin`. UTC unless given.' }),
  enabled: Type.Boolean({ description: 'true unless given.' }),
}

const schedule = component(
  'Schedule',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    jobType: Type.String(),
    payload: payloadSchema,
    ...time,
    maxAttempts: Type.Integer(),
    nextRunAt: Type.Union([timestamp, Type.Null()], { description: 'null while disabled.' }),
    lastRunAt: Type.Optional(timestamp),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)

const fixed = {
  name: Type.Optional(Type.String({ description: 'At most 100 characters, unique.' })),
  jobType: Type.Optional(Type.String()),
  maxAttempts: Type.Optional(maxAttemptsSchema),
}
const changeable = { ...Type.Partial(Type.Object(time)).properties, payload: Type.Optional(payloadSchema) }

export const listSchedulesSchema = {
  tags,
  security,
  summary: 'List schedules',
  description: 'By name.',
  response: responses({ 200: listOf(schedule) }),
}

export const createScheduleSchema = {
  tags,
  security,
  summary: 'Create a schedule',
  description: 'Adds a job of the type each time the expression says so.',
  body: Type.Object({
    ...fixed,
    ...changeable,
    name: requiredByHandler(fixed.name),
    jobType: requiredByHandler(fixed.jobType),
    cronExpr: requiredByHandler(time.cronExpr),
  }),
  response: responses({ 201: schedule }),
}

export const changeScheduleSchema = {
  tags,
  security,
  summary: 'Change a schedule',
  description: 'Members that are left out stay as they are. Name, job type and attempts are fixed.',
  params,
  body: Type.Object({ ...fixed, ...changeable }),
  response: responses({ 200: schedule }),
}

export const deleteScheduleSchema = {
  tags,
  security,
  summary: 'Delete a schedule',
  description: 'Jobs it has added stay.',
  params,
  response: responses({ 204: noContent }),
}

export const enableScheduleSchema = {
  tags,
  security,
  summary: 'Enable a schedule',
  params,
  response: responses({ 200: schedule }),
}

export const disableScheduleSchema = {
  tags,
  security,
  summary: 'Disable a schedule',
  params,
  response: responses({ 200: schedule }),
}
