import {
  bearerSecurity,
  component,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { jobStates } from './states.ts'

const tags = ['jobs']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })
/** Its form is checked by hand, for the message. */
const params = Type.Object({ id: uuidByHandler({ description: 'UUID.' }) })

/** A free object, kept as it is. */
export const payloadSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'What a job of the type needs.',
})
export const maxAttemptsSchema = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Attempts after which a job has failed.',
})

const job = component(
  'Job',
  Type.Object({
    id: Type.String(),
    type: Type.String(),
    payload: payloadSchema,
    state: Type.Enum(jobStates),
    attempts: Type.Integer(),
    maxAttempts: Type.Integer(),
    lastError: Type.String({ description: 'Empty when the latest attempt did not fail.' }),
    runAt: Type.String({ description: 'Not before this time.' }),
    leaseUntil: Type.Optional(
      Type.String({
        description: 'Of a running job: when another worker takes it unless its own renews the lease.',
      }),
    ),
    lastRunAt: Type.Optional(timestamp),
    scheduleId: Type.Optional(Type.String({ description: 'The schedule it comes from.' })),
    createdAt: timestamp,
    updatedAt: timestamp,
    completedAt: Type.Optional(Type.String({ description: 'When it completed or failed.' })),
    canceledAt: Type.Optional(timestamp),
  }),
)

export const listJobsSchema = {
  tags,
  security,
  summary: 'List jobs',
  description: 'Newest first.',
  querystring: Type.Object({
    state: Type.Optional(Type.String({ description: jobStates.join(', ') })),
    type: Type.Optional(Type.String()),
    // Read by hand: 1.5 would be taken for 1.
    limit: Type.Optional(Type.String({ description: 'An integer; 50 unless given, 500 at most.' })),
    offset: Type.Optional(Type.String({ description: 'An integer; 0 unless given.' })),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(job),
      count: Type.Integer({ description: 'Items in this answer.' }),
    }),
  }),
}

export const jobStatsSchema = {
  tags,
  security,
  summary: 'Count jobs by state',
  response: responses({
    200: Type.Object({
      queued: Type.Integer(),
      running: Type.Integer(),
      completed: Type.Integer(),
      failed: Type.Integer(),
      canceled: Type.Integer(),
      oldestQueuedAgeSec: Type.Number({
        description: 'Seconds since the job that has been due longest was; 0 when none is due.',
      }),
    }),
  }),
}

export const getJobSchema = {
  tags,
  security,
  summary: 'Get a job',
  params,
  response: responses({ 200: job }),
}

export const enqueueJobSchema = {
  tags,
  security,
  summary: 'Add a job',
  body: Type.Object({
    type: requiredByHandler(Type.String()),
    payload: Type.Optional(payloadSchema),
    maxAttempts: Type.Optional(maxAttemptsSchema),
    runAt: Type.Optional(Type.String({ description: 'RFC 3339. At once unless given.' })),
  }),
  response: responses({ 201: job }),
}

export const retryJobSchema = {
  tags,
  security,
  summary: 'Try a failed job again',
  description: 'It is queued at once, with all its attempts again.',
  params,
  response: responses({ 200: job }),
}

export const cancelJobSchema = {
  tags,
  security,
  summary: 'Cancel a queued job',
  description: 'A job that is running cannot be canceled.',
  params,
  response: responses({ 200: job }),
}
