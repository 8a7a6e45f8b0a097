import type { Relation } from '../../../database/catalog/model.ts'
import type { ChangeAction, ChangeForm, ChangeLog } from '../../../database/change-log.ts'
import { type Call, statement } from '../../../database/connection/message.ts'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { Interests } from './interests.ts'
import { outboxTopic } from './log-news.ts'

/** Works as the owner of the log, whoever calls it. */
const appendChanges = statement('select basalt.append_changes($1, $2, $3, $4, $5)')

/** Writes changes that have a listener into the log, in the message and transaction of the write. */
export class OutboxChangeLog implements ChangeLog {
  readonly #interests: Interests
  readonly #notifications: Pick<Notifications, 'announce'>

  constructor(interests: Interests, notifications: Pick<Notifications, 'announce'>) {
    this.#interests = interests
    this.#notifications = notifications
  }

  capture(
    { collection, schema, name }: Relation,
    action: ChangeAction,
    form: ChangeForm,
    isPartial: boolean,
  ): Call | undefined {
    if (!this.#interests.has(collection, action)) return undefined
    return { statement: appendChanges, values: [schema, name, action, form, String(isPartial)] }
  }

  committed(): void {
    this.#notifications.announce(outboxTopic)
  }
}
