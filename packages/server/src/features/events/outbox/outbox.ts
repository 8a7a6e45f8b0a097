import type { Column, Relation } from '../../../database/catalog/model.ts'
import {
  type ChangeAction,
  type ChangeForm,
  type ChangeLog,
  changedRows,
} from '../../../database/change-log.ts'
import { type Call, statement } from '../../../database/connection/message.ts'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { render, type Sql, sql } from '../../../database/sql.ts'
import type { Interests } from './interests.ts'
import { outboxTopic } from './log-news.ts'

/** Writes changes that have a listener into the log, in the message and transaction of the write. */
export class OutboxChangeLog implements ChangeLog {
  readonly #interests: Interests
  readonly #notifications: Pick<Notifications, 'announce'>
  /** A relation lives as long as its snapshot of the catalog. */
  readonly #calls = new WeakMap<Relation, Map<string, Call>>()

  constructor(interests: Interests, notifications: Pick<Notifications, 'announce'>) {
    this.#interests = interests
    this.#notifications = notifications
  }

  capture(relation: Relation, action: ChangeAction, form: ChangeForm): Call | undefined {
    if (!this.#interests.has(relation.collection, action)) return undefined
    let calls = this.#calls.get(relation)
    if (calls === undefined) {
      calls = new Map()
      this.#calls.set(relation, calls)
    }
    const kind = `${action} ${form}`
    let call = calls.get(kind)
    if (call === undefined) {
      call = { statement: statement(render(compileAppend(relation, action, form)).text), values: [] }
      calls.set(kind, call)
    }
    return call
  }

  committed(): void {
    this.#notifications.announce(outboxTopic)
  }
}

function compileAppend({ collection, primaryKey }: Relation, action: ChangeAction, form: ChangeForm): Sql {
  const isUpdate = action === 'update'
  const key = compileKey(primaryKey, sql`c.record`)
  const oldKey = compileKey(primaryKey, sql`c."oldRecord"`)
  // Rows are inserted, and so numbered, in the order in which they are read.
  return sql`
    insert into basalt.outbox (action, table_name, record_key, old_record_key, record, old_record)
    select ${sql.literal(action)}, ${sql.literal(collection)}, ${key},
      ${isUpdate ? sql`case when c."oldRecord" is not null then nullif(${oldKey}, ${key}) end` : sql`null`},
      c.record, ${isUpdate ? sql`c."oldRecord"` : sql`null`}
    from ${changedRows(action, form)}`
}

/** Null where there is no key. */
function compileKey(primaryKey: readonly Column[], record: Sql): Sql {
  if (primaryKey.length === 0) return sql`null`
  return sql`json_build_array(${sql.join(
    primaryKey.map(({ name }) => sql`${record}->${sql.literal(name)}`),
  )})::text`
}
