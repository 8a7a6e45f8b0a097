import { expect } from 'vitest'
import type { EventStreamClient } from '../../../../../test/event-stream.ts'

/* Expected messages of streams and WebSockets. */

/** Returns the body of a create. */
export const created = (table: string, record: object) => ({ action: 'create', table, record })

/** Returns the body of an update. */
export const updated = (table: string, record: object) => ({ action: 'update', table, record })

/** Returns the body of a delete, which has the primary key as texts. */
export const deleted = (table: string, record: Readonly<Record<string, string>>) => ({
  action: 'delete',
  table,
  record,
})

/** Returns the WebSocket message of a change with the given body. */
export const eventOf = (body: object) => ({ type: 'event', id: expect.any(String), ...body })

/** Reply to a request that has succeeded. */
export const okReply = { type: 'reply', ref: expect.any(String), status: 'ok' }

/** Returns the reply to a request that has failed. */
export const errorReply = (message: string) => ({
  type: 'reply',
  ref: expect.any(String),
  status: 'error',
  message,
})

/** Returns the WebSocket message about missing events. */
export const gapMessage = (id: string) => ({
  type: 'system',
  message: 'events before this one may be missing; read the tables again',
  id,
})

/** Returns the names of the events that a stream has received. */
export const namesOf = ({ events }: EventStreamClient) => events.map(({ name }) => name)

/** Returns the ids of the records that a stream has received. */
export const idsOf = ({ messages }: EventStreamClient) => messages.map(({ record }) => record.id)
