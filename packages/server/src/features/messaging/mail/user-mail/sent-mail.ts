import { allOf, when } from '../../../../database/conditions.ts'
import { deleteInBatches } from '../../../../database/delete-in-batches.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { TimeRange } from '../../../../http/requests/filters.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

/** Mails of one request. */
export interface NewMails {
  readonly ids: readonly string[]
  readonly recipients: readonly string[]
  /** Id of the user. Null for a program that acts for no user. */
  readonly userId: string | null
  readonly keyId: string | undefined
  readonly sender: string
  readonly subject: string
  readonly templateKey: string | undefined
}

export async function insertMails(
  database: Queryable,
  { ids, recipients, userId, keyId, sender, subject, templateKey }: NewMails,
): Promise<void> {
  await database.count(sql`
    insert into basalt.sent_mails (id, recipient, user_id, api_key_id, sender, subject, template_key)
    select m.id, m.recipient, u.id, ${keyId ?? null}::uuid, ${sender}, ${subject}, ${templateKey ?? null}
    from unnest(${[...ids]}::uuid[], ${[...recipients]}::text[]) as m (id, recipient)
    left join basalt.users u on u.id = ${userId}::uuid
    -- A job that is repeated has its row.
    on conflict (id) do nothing`)
}

export interface MailOutcome {
  readonly id: string
  /** Reason of a failure. Undefined for a sent mail. */
  readonly reason: string | undefined
}

export async function recordOutcomes(database: Queryable, outcomes: readonly MailOutcome[]): Promise<void> {
  await database.count(sql`
    update basalt.sent_mails m
    set status = case when o.reason is null then 'sent' else 'failed' end, error_message = o.reason
    from unnest(${outcomes.map(({ id }) => id)}::uuid[], ${outcomes.map(({ reason }) => reason ?? null)}::text[])
      as o (id, reason)
    where m.id = o.id`)
}

/** Mail that a user or a program sent. */
export const SentMail = component(
  'SentMail',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    user_id: nullable(Type.String({ format: 'uuid' })),
    api_key_id: nullable(Type.String({ format: 'uuid' })),
    from: Type.String(),
    to: Type.String(),
    subject: Type.String(),
    template_key: nullable(Type.String()),
    status: choice(['pending', 'sent', 'failed']),
    error_message: nullable(Type.String()),
    created_at: timestamp,
  }),
)
export type SentMail = Answered<typeof SentMail>

/** Lists mails, the newest first. */
export async function listMails(
  database: Queryable,
  { userId, from, to }: TimeRange & { readonly userId: string | undefined },
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<SentMail[]> {
  const matches = allOf([
    when(userId, (id) => sql`user_id = ${id}`),
    when(from, (time) => sql`created_at >= ${time}::timestamptz`),
    when(to, (time) => sql`created_at < ${time}::timestamptz`),
  ])
  return await database.many<SentMail>(sql`
    select id, user_id, api_key_id, sender as "from", recipient as "to", subject, template_key, status, error_message,
      created_at
    from basalt.sent_mails where ${matches}
    order by created_at desc, id desc limit ${limit} offset ${offset}`)
}

export function deleteMails(database: Queryable, days: number): Promise<number> {
  return deleteInBatches(database, 'sent_mails', sql`created_at < now() - make_interval(days => ${days})`)
}
