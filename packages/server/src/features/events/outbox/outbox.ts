import type { Relation } from '../../../database/catalog/model.ts'
import {
  type CapturingCall,
  type ChangeAction,
  type ChangeForm,
  type ChangeLog,
  requireCapturedBy,
} from '../../../database/change-log.ts'
import { statement } from '../../../database/connection/message.ts'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { EventTriggers } from './capture/event-triggers.ts'
import type { Interests } from './interests.ts'
import { outboxTopic } from './unread-rows.ts'

/** Statement that appends changes. It runs as the owner of the log for every caller (security definer). */
const appendChanges = statement('select basalt.append_changes($1, $2, $3, $4, $5)')

/**
 * Log of changes that have a listener. A trigger or a call appends them in the message and transaction of the write.
 */
export class OutboxChangeLog implements ChangeLog {
  readonly #interests: Interests
  readonly #triggers: Pick<EventTriggers, 'isEnabled' | 'has' | 'invalidate'>
  readonly #notifications: Pick<Notifications, 'announce'>

  constructor(
    interests: Interests,
    triggers: Pick<EventTriggers, 'isEnabled' | 'has' | 'invalidate'>,
    notifications: Pick<Notifications, 'announce'>,
  ) {
    this.#interests = interests
    this.#triggers = triggers
    this.#notifications = notifications
  }

  get hasTriggers(): boolean {
    return this.#triggers.isEnabled
  }

  capture(
    relation: Relation,
    action: ChangeAction,
    form: ChangeForm,
    isPartial: boolean,
  ): CapturingCall | undefined {
    const { collection, schema, name } = relation
    if (!this.#interests.has(collection, action)) return undefined
    if (this.#triggers.has(relation, action)) {
      return { call: requireCapturedBy(relation, action), takesChanges: false }
    }
    const values = [schema, name, action, form, String(isPartial)]
    return { call: { statement: appendChanges, values }, takesChanges: true }
  }

  doubt(relation: Relation): void {
    this.#triggers.invalidate(relation)
  }

  committed(): void {
    this.#notifications.announce(outboxTopic)
  }
}
