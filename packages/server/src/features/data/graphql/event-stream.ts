import type { FastifyReply, FastifyRequest } from 'fastify'
import { EventStream, formatEvent } from '../../../http/responses/sse.ts'

/** Server-sent events of an operation (GraphQL over Server-Sent Events, Distinct connections mode). */

/** Last event of a stream, whose operation has ended. */
export const completeEvent = formatEvent({ name: 'complete', data: '' })

/** Formats a result. @param id position to resume from, if it is certain */
export function formatNext(payload: string, id?: string): string {
  // The text of a `json` column may have line breaks, which mean nothing outside of strings.
  return formatEvent({ id, name: 'next', data: payload.replace(/[\r\n]+/g, ' ') })
}

/** Sends the one result of an operation. */
export function sendResult(reply: FastifyReply, payload: string): void {
  new EventStream(reply).end(formatNext(payload) + completeEvent)
}

/** Returns true if the client accepts server-sent events. */
export function acceptsEvents({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') === true
}

/**
 * Returns true if the client accepts server-sent events alone. Some clients also accept them with every query, and
 * expect JSON.
 */
export function acceptsOnlyEvents(request: Pick<FastifyRequest, 'headers'>): boolean {
  return acceptsEvents(request) && !/json|\*\/\*/i.test(request.headers.accept ?? '')
}
