import { randomUUID } from 'node:crypto'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { ok, operation } from '../../../../http/operation.ts'
import {
  choiceParameter,
  instantParameter,
  limitParameter,
  readTimeRange,
} from '../../../../http/requests/filters.ts'
import {
  checkedByHandler,
  component,
  isTotalEstimated,
  pageOf,
  readPage,
  refusedWith,
} from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { uuidPattern } from '../../../../lib/uuid.ts'
import { recordAdminAction } from '../../../operations/audit/index.ts'
import {
  countDeliveries,
  getDelivery,
  insertReplay,
  listDeliveries,
  WebhookDelivery,
  WebhookTrial,
} from '../delivery.ts'
import { enqueueAgain, replayChoices } from '../enqueue.ts'
import { webhookErrors } from '../errors.ts'
import { readSecret } from '../fields.ts'
import { getReceiver, getWebhook, lockForReplay } from '../webhook.ts'
import { common, id, item, readAllowedUrl, requiredUrl, seal, type WebhookDeps } from './webhooks.ts'

const deliveriesPath = `${item}/deliveries`
const deliveryPath = `${deliveriesPath}/:deliveryId`
const params = Type.Object({ id })
const deliveryParams = Type.Object({ id, deliveryId: id })

const refusal = (problem: string) => ({ invalid: () => webhookErrors.invalidWebhook(problem) })

const list = operation({
  ...common,
  id: 'webhooks.listDeliveries',
  permission: 'bodies.read',
  method: 'GET',
  path: deliveriesPath,
  summary: 'List the deliveries of a webhook',
  description: 'Returns every attempt, newest first.',
  params,
  query: Type.Object({
    page: Type.Optional(
      refusedWith(
        refusal('page: expected an integer'),
        checkedByHandler({ minimum: 1, maximum: 1_000_000 }, Type.Integer()),
      ),
    ),
    perPage: Type.Optional(
      refusedWith(
        refusal('perPage: expected an integer'),
        checkedByHandler({ minimum: 1, maximum: 100, default: 20 }, Type.Integer()),
      ),
    ),
    failed_only: Type.Optional(
      refusedWith(
        refusal('failed_only: expected true or false'),
        Type.Boolean({ description: 'True to list only failed attempts.' }),
      ),
    ),
  }),
  success: ok(
    component(
      'WebhookDeliveryPage',
      Type.Object({ ...pageOf(WebhookDelivery).properties, isTotalEstimated }),
    ),
  ),
  async handle({ database }: WebhookDeps, { params, query }) {
    const filter = { webhookId: params.id, failedOnly: query.failed_only ?? false }
    const { page, perPage, offset } = readPage(query)
    await getWebhook(database, params.id)
    const [items, total] = await Promise.all([
      listDeliveries(database, filter, { perPage, offset }),
      countDeliveries(database, filter),
    ])
    return { items, page, perPage, ...total, totalPages: Math.ceil(total.totalItems / perPage) }
  },
})

const get = operation({
  ...common,
  id: 'webhooks.getDelivery',
  permission: 'bodies.read',
  method: 'GET',
  path: deliveryPath,
  summary: 'Get a delivery',
  params: deliveryParams,
  success: ok(WebhookDelivery),
  handle: ({ database }: WebhookDeps, { params }) => getDelivery(database, params.id, params.deliveryId),
})

const replay = operation({
  ...common,
  id: 'webhooks.replay',
  permission: 'operations.write',
  method: 'POST',
  path: `${deliveryPath}/replay`,
  summary: 'Send a delivery again',
  description: 'Makes one attempt with the same body and `webhook-id`. Returns its row of the log.',
  params: deliveryParams,
  success: ok(WebhookDelivery),
  async handle({ database, send }: WebhookDeps, { params: { id, deliveryId }, origin }) {
    const delivery = await getDelivery(database, id, deliveryId)
    const { eventId, requestBody: body } = delivery
    const receiver = await getReceiver(database, id)
    await recordAdminAction(database, 'webhooks.replay', id, origin, { deliveryId, eventId })
    return await insertReplay(database, delivery, await send({ ...receiver, id: eventId, body }))
  },
})

const tryDelivery = operation({
  ...common,
  id: 'webhooks.try',
  method: 'POST',
  path: `${deliveryPath}/try`,
  summary: 'Send a delivery to another address',
  description:
    'Makes one attempt with the same body and `webhook-id`, for a test. The log of deliveries does not record it.',
  params: deliveryParams,
  body: Type.Object({
    url: requiredUrl,
    secret: Type.Optional(
      Type.String({ description: 'Secret that signs this attempt. The secret of the webhook is not used.' }),
    ),
  }),
  success: ok(WebhookTrial),
  async handle(deps: WebhookDeps, { params: { id, deliveryId }, body, origin }) {
    const { eventId, requestBody } = await getDelivery(deps.database, id, deliveryId)
    const url = readAllowedUrl(deps, body.url)
    const secret = readSecret(body.secret ?? null)
    await recordAdminAction(deps.database, 'webhooks.try', id, origin, { deliveryId, eventId, url })
    // The trial gets its own id, because a secret is sealed for one receiver.
    const webhookId = randomUUID()
    const { headers: _, ...outcome } = await deps.send({
      webhookId,
      url,
      secret: seal(deps, webhookId, secret),
      previousSecret: null,
      id: eventId,
      body: requestBody,
    })
    return outcome
  },
})

const replayLimit = limitParameter(1000, 10_000)

const replayRange = operation({
  ...common,
  id: 'webhooks.replayRange',
  permission: 'operations.write',
  method: 'POST',
  path: `${item}/replays`,
  summary: 'Deliver a range of events again',
  description:
    'Queues the events in their order. Each waits for earlier events of its record in the queue. An event that the queue already has is skipped. The webhook must be enabled.',
  params,
  body: Type.Object({
    which: choiceParameter('which', replayChoices, {
      description:
        'Kind of events. `failed` (default): no attempt has succeeded. `delivered`: all events with an attempt. `missed`: events of the log that the webhook subscribes to and that were never queued for it.',
    }),
    since: instantParameter,
    until: instantParameter,
    cursor: Type.Optional(
      refusedWith(
        {
          invalid: () =>
            httpErrors.invalidListParameter('cursor', 'expected nextCursor of the request before'),
        },
        Type.String({
          pattern: `^\\d{0,18}_${uuidPattern.slice(1)}`,
          description: '`nextCursor` of the previous request. Continues after its last item.',
        }),
      ),
    ),
    limit: replayLimit.schema,
    dryRun: Type.Optional(Type.Boolean({ description: 'True to count the events without queuing them.' })),
  }),
  success: ok(
    Type.Object({
      queued: Type.Integer({ description: 'Number of events that were queued, or would be with `dryRun`.' }),
      hasMore: Type.Boolean({ description: 'True if the limit was reached.' }),
      nextCursor: Type.Optional(Type.String({ description: 'With `hasMore`: cursor of the next request.' })),
    }),
  ),
  async handle({ database, onQueued }: WebhookDeps, { params: { id }, body, origin }) {
    const { which = 'failed', cursor, dryRun: isDryRun = false } = body
    const { from, to } = readTimeRange({ from: body.since, to: body.until }, ['since', 'until'])
    const limit = replayLimit.read(body.limit)
    const [logId, eventId = ''] = cursor?.split('_') ?? []
    const after = cursor === undefined ? undefined : { logId: logId || null, eventId }
    const range = { webhookId: id, which, from, to, after, limit, isDryRun }
    const { count: queued, last } = await database.transaction(async (transaction) => {
      // The webhook is locked, so that the second of two concurrent replays finds the rows that the first has queued.
      const { enabled } = await (isDryRun ? getWebhook : lockForReplay)(transaction, id)
      if (!enabled && !isDryRun) throw webhookErrors.webhookDisabled()
      const found = await enqueueAgain(transaction, range)
      if (isDryRun) return found
      const since = from?.toISOString() ?? null
      const until = to?.toISOString() ?? null
      const detail = { which, since, until, queued: found.count }
      await recordAdminAction(transaction, 'webhooks.replay_range', id, origin, detail)
      return found
    })
    if (!isDryRun) onQueued()
    const hasMore = queued === limit
    const nextCursor = hasMore && last !== undefined ? `${last.logId ?? ''}_${last.eventId}` : undefined
    return { queued, hasMore, nextCursor }
  },
})

export const deliveryOperations = [list, get, replay, tryDelivery, replayRange]
