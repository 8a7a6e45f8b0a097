import type { Logger } from 'pino'
import { messageOf } from '../../../../lib/errors.ts'
import type { ChangeFeed } from '../changes/change-feed.ts'
import { parsePosition } from '../changes/position.ts'
import { type SubscriptionPlanner, tableLimit } from '../changes/subscriptions.ts'
import { realtimeErrors } from '../errors.ts'
import type { Stream } from '../stream.ts'
import { type ClientMessage, filterOf, tablesOf } from './client-messages.ts'

/** Function that sends the reply `ok` to a request, with the given members. */
export type Reply = (members?: object) => void

export interface TableRequestsDeps {
  readonly planner: SubscriptionPlanner
  readonly feed: ChangeFeed
  readonly log: Logger
}

/** Handler of client requests about tables. */
export class TableRequests {
  readonly #deps: TableRequestsDeps

  constructor(deps: TableRequestsDeps) {
    this.#deps = deps
  }

  /**
   * Adds tables to the subscriptions. Each table has the filter of its last request. @throws AppError to be sent to the
   * client
   */
  async subscribe(stream: Stream, message: ClientMessage, reply: Reply): Promise<void> {
    const { planner, feed, log } = this.#deps
    const only = await planner.plan(stream.listener.scope, tablesOf(message), filterOf(message))
    const all = new Map([...stream.subscriptions, ...only])
    if (all.size > tableLimit) throw realtimeErrors.tooManyTables(tableLimit)
    const { last_event_id: last } = message.members
    const isResuming = last !== undefined && last !== null && last !== ''
    let isInForce = false
    try {
      await feed.subscribe(stream, all, typeof last === 'string' ? parsePosition(last) : undefined, {
        isResuming,
        only,
        begin: (id, hasGap) => {
          isInForce = true
          reply(id === undefined ? {} : { id })
          if (hasGap) stream.transport.gap(id)
        },
      })
    } catch (error) {
      if (!isInForce) throw error
      log.warn({ reason: messageOf(error) }, 'failed to continue a stream; ending it')
      stream.end('server_error')
    }
  }

  /** Removes tables from the subscriptions. @throws AppError to be sent to the client */
  async unsubscribe(stream: Stream, message: ClientMessage, reply: Reply): Promise<void> {
    const names = new Set(tablesOf(message))
    const rest = new Map([...stream.subscriptions].filter(([table]) => !names.has(table)))
    await this.#deps.feed.subscribe(stream, rest, undefined, { isResuming: false, begin: () => reply() })
  }
}
