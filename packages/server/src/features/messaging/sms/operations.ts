import type { SystemDatabase } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import { ok, operation } from '../../../http/operation.ts'
import { limitParameter } from '../../../http/requests/filters.ts'
import { component, isTotalEstimated, pageOf, readPage, refusedWith, uuid } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { smsErrors } from './errors.ts'
import {
  countMessages,
  countOutcomes,
  findMessageOf,
  listMessages,
  SmsMessage,
  withoutReason,
} from './message.ts'

interface SmsDeps {
  readonly database: SystemDatabase
}

const own = { guard: 'bearer', tag: 'sms' } as const
const ownMessages = '/api/messaging/sms/messages'
const ownLimit = limitParameter(50, 100)

const listOwn = operation({
  ...own,
  id: 'sms.listOwn',
  method: 'GET',
  path: ownMessages,
  summary: "List the caller's text messages, the newest first",
  query: Type.Object({ limit: ownLimit.schema }),
  success: ok(Type.Array(SmsMessage)),
  async handle({ database }: SmsDeps, { query, http }) {
    const filter = { userId: userOf(http).userId, limit: ownLimit.read(query.limit), offset: 0 }
    return (await listMessages(database, filter)).map(withoutReason)
  },
})

const getOwn = operation({
  ...own,
  id: 'sms.getOwn',
  method: 'GET',
  path: `${ownMessages}/:id`,
  summary: "Get one of the caller's text messages",
  params: Type.Object({ id: refusedWith({ invalid: smsErrors.smsMessageNotFound }, uuid) }),
  success: ok(SmsMessage),
  async handle({ database }: SmsDeps, { params, http }) {
    const message = await findMessageOf(database, userOf(http).userId, params.id)
    if (message === undefined) throw smsErrors.smsMessageNotFound()
    return withoutReason(message)
  },
})

const administrative = { guard: 'admin', permission: 'bodies.read', tag: 'sms' } as const

const list = operation({
  ...administrative,
  id: 'sms.list',
  method: 'GET',
  path: '/api/admin/sms/messages',
  summary: 'List text messages, the newest first',
  query: Type.Object({
    page: Type.Optional(Type.Integer({ description: 'From 1.' })),
    perPage: Type.Optional(Type.Integer({ description: 'At most 200, by default 50.' })),
  }),
  success: ok(
    component('SmsMessagePage', Type.Object({ ...pageOf(SmsMessage).properties, isTotalEstimated })),
  ),
  async handle({ database }: SmsDeps, { query }) {
    const { page, perPage, offset } = readPage(query, { size: 50, most: 200 })
    const [items, total] = await Promise.all([
      listMessages(database, { limit: perPage, offset }),
      countMessages(database),
    ])
    return { items, page, perPage, ...total, totalPages: Math.ceil(total.totalItems / perPage) }
  },
})

const SmsPeriod = component(
  'SmsPeriod',
  Type.Object({
    sent: Type.Integer(),
    confirmed: Type.Integer({ description: 'Number of messages that the provider reported as delivered.' }),
    failed: Type.Integer(),
    conversion_rate: Type.Number({ description: 'Percentage of the sent messages that are confirmed.' }),
  }),
)

/** Percentage of delivered messages below which a warning appears. */
const lowConversion = 10

const health = operation({
  ...administrative,
  id: 'sms.health',
  permission: 'operations.read',
  method: 'GET',
  path: '/api/admin/sms/health',
  summary: 'Count sent and delivered text messages',
  success: ok(
    Type.Object({
      today: SmsPeriod,
      last_7d: SmsPeriod,
      last_30d: SmsPeriod,
      warning: Type.Optional(
        Type.String({ description: '`low conversion rate` when it is below 10 % today.' }),
      ),
    }),
  ),
  async handle({ database }: SmsDeps) {
    const counts = await countOutcomes(database)
    const of = (name: string) => {
      const { sent = 0, confirmed = 0, failed = 0 } = counts.find(({ period }) => period === name) ?? {}
      const rate = sent === 0 ? 0 : Math.round((confirmed / sent) * 1000) / 10
      return { sent, confirmed, failed, conversion_rate: rate }
    }
    const today = of('today')
    const isLow = today.sent > 0 && today.conversion_rate < lowConversion
    return {
      today,
      last_7d: of('last_7d'),
      last_30d: of('last_30d'),
      ...(isLow ? { warning: 'low conversion rate' } : {}),
    }
  },
})

/** Operations on lists of text messages and their outcomes. */
export const messageOperations = [listOwn, getOwn, list, health]
