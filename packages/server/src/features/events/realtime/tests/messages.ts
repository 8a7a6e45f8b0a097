import { expect } from 'vitest'
import type { EventStreamClient } from '../../../../../test/event-stream.ts'

/* Expected messages of streams and WebSockets. */

/** Body of a create. */
export const created = (table: string, record: object) => ({ action: 'create', table, record })

/** Body of an update. */
export const updated = (table: string, record: object) => ({ action: 'update', table, record })

/** Body of a delete, which has the primary key as texts. */
export const deleted = (table: string, record: Readonly<Record<string, string>>) => ({
  action: 'delete',
  table,
  record,
})

/** WebSocket message of a change with the given body. */
export const eventOf = (body: object) => ({ type: 'event', id: expect.any(String), ...body })

/** Reply to a request that has succeeded. */
export const okReply = { type: 'reply', ref: expect.any(String), status: 'ok' }

/** Reply to a request that has failed. */
export const errorReply = (message: string) => ({
  type: 'reply',
  ref: expect.any(String),
  status: 'error',
  message,
})

/** Notice that events are missing, as a WebSocket sends it. */
export const gapMessage = (id: string) => ({
  type: 'system',
  message: 'events before this one may be missing; read the tables again',
  id,
})

/** Returns the names of the events that a stream has received. */
export const namesOf = ({ events }: EventStreamClient) => events.map(({ name }) => name)

/** Returns the ids of the records that a stream has received. */
export const idsOf = ({ messages }: EventStreamClient) => messages.map(({ record }) => record.id)
