import { randomUUID } from 'node:crypto'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import type { Outbound } from '../../../../http/outbound.ts'
import { checkedByHandler, nullable, refusedWith } from '../../../../http/schemas.ts'
import type { SecretBox } from '../../../../lib/secret-box.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAdminAction } from '../../../operations/audit/index.ts'
import type { Interests } from '../../outbox/index.ts'
import { WebhookTrial } from '../delivery.ts'
import { webhookErrors } from '../errors.ts'
import {
  nameLimit,
  readEvents,
  readSecret,
  readTables,
  readUrl,
  secretLimit,
  tablesLimit,
  urlRules,
} from '../fields.ts'
import { type Send, secretContext } from '../send.ts'
import {
  actions,
  deleteWebhook,
  getReceiver,
  getWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  updateWebhook,
  Webhook,
} from '../webhook.ts'

export interface WebhookDeps {
  readonly database: SystemDatabase
  readonly outbound: Outbound
  readonly secrets: () => SecretBox
  readonly interests: Interests
  readonly send: Send
  /** Runs after deliveries were queued. */
  readonly onQueued: () => void
}

export const common = { guard: 'admin', permission: 'owner', tag: 'webhooks' } as const
export const collection = '/api/webhooks'
export const item = `${collection}/:id`
/** Parameter of an id in any form. A malformed id gets 404, after all other checks. */
export const id = checkedByHandler({ format: 'uuid' }, Type.String())
const params = Type.Object({ id })

const url = checkedByHandler(
  urlRules,
  Type.String({ description: 'An absolute http or https URL without credentials.' }),
)
export const requiredUrl = refusedWith(
  { missing: () => webhookErrors.invalidWebhook('url is required') },
  url,
)

const fields = {
  secret: Type.Optional(
    checkedByHandler(
      { anyOf: [{ type: 'string', maxLength: secretLimit }, { type: 'null' }] },
      nullable(Type.String(), {
        description:
          'Key of the signatures: any text, or `whsec_` and base64. Never returned. In an update, null removes the secret and an empty text leaves it unchanged. A replaced secret signs `webhook-signature` for another day beside its successor. Secrets before it stop signing at once.',
      }),
    ),
  ),
  events: Type.Optional(
    checkedByHandler(
      { items: { type: 'string', enum: actions } },
      Type.Array(Type.String(), { description: 'Events that are sent. Default: create, update and delete.' }),
    ),
  ),
  tables: Type.Optional(
    checkedByHandler(
      { maxItems: tablesLimit, items: { type: 'string', pattern: '\\S', maxLength: nameLimit } },
      Type.Array(Type.String(), {
        description: 'Names of collections. An empty list means all collections.',
      }),
    ),
  ),
  enabled: Type.Optional(Type.Boolean()),
}

const list = operation({
  ...common,
  id: 'webhooks.list',
  method: 'GET',
  path: collection,
  summary: 'List webhooks',
  description: 'Returns the oldest webhooks first.',
  success: ok(Type.Object({ items: Type.Array(Webhook) })),
  handle: async ({ database }: WebhookDeps) => ({ items: await listWebhooks(database) }),
})

const create = operation({
  ...common,
  id: 'webhooks.create',
  method: 'POST',
  path: collection,
  summary: 'Create a webhook',
  description: 'Writes that start after the response are delivered, on every node.',
  body: Type.Object({ ...fields, url: requiredUrl }),
  success: created(Webhook),
  async handle(deps: WebhookDeps, { body, origin }) {
    const { database, interests } = deps
    const id = randomUUID()
    const input = {
      url: readAllowedUrl(deps, body.url),
      secret: seal(deps, id, readSecret(body.secret ?? null)),
      events: readEvents(body.events ?? []),
      tables: readTables(body.tables ?? []),
      enabled: body.enabled ?? true,
    }
    const webhook = await database.transaction(async (transaction) => {
      const stored = await insertWebhook(transaction, id, input)
      await recordAdminAction(transaction, 'webhooks.create', id, origin, describe(stored))
      return stored
    })
    await interests.settled()
    return webhook
  },
})

const get = operation({
  ...common,
  id: 'webhooks.get',
  method: 'GET',
  path: item,
  summary: 'Get a webhook',
  params,
  success: ok(Webhook),
  handle: ({ database }: WebhookDeps, { params }) => getWebhook(database, params.id),
})

const update = operation({
  ...common,
  id: 'webhooks.update',
  method: 'PATCH',
  path: item,
  summary: 'Change a webhook',
  description: 'Fields that are absent keep their value. `enabled: true` also ends a pause.',
  params,
  body: Type.Object({ ...fields, url: Type.Optional(url) }),
  success: ok(Webhook),
  async handle(deps: WebhookDeps, { params, body, origin }) {
    const { database, interests, secrets } = deps
    const id = params.id.toLowerCase()
    const { url, secret, events, tables, enabled } = body
    const changes = {
      // An empty URL or secret means unchanged, as in other implementations of the API. A form that cannot know the
      // secret sends an empty one, and this must not end the signatures. Null removes the secret.
      ...(url === undefined || url === '' ? {} : { url: readAllowedUrl(deps, url) }),
      ...(secret === undefined || secret === '' ? {} : { secret: seal(deps, id, readSecret(secret)) }),
      ...(events === undefined ? {} : { events: readEvents(events) }),
      ...(tables === undefined ? {} : { tables: readTables(tables) }),
      ...(enabled === undefined ? {} : { enabled }),
    }
    // The texts are compared, because sealing one secret twice gives two values.
    const isReplaced = (sealed: string | null) =>
      typeof changes.secret === 'string' &&
      sealed !== null &&
      secrets().open(sealed, secretContext(id))?.toString('utf8') !== secret
    const webhook = await database.transaction(async (transaction) => {
      const before = await lockWebhook(transaction, id)
      const options = { isResumed: enabled === true, isSecretReplaced: isReplaced(before.secret) }
      const stored = await updateWebhook(transaction, id, { ...before, ...changes }, options)
      const detail = { ...describe(stored), changed: Object.keys(changes) }
      await recordAdminAction(transaction, 'webhooks.update', id, origin, detail)
      return stored
    })
    await interests.settled()
    return webhook
  },
})

const remove = operation({
  ...common,
  id: 'webhooks.delete',
  method: 'DELETE',
  path: item,
  summary: 'Delete a webhook and its deliveries',
  params,
  success: noContent,
  async handle({ database, interests }: WebhookDeps, { params: { id }, origin }) {
    await database.transaction(async (transaction) => {
      await lockWebhook(transaction, id)
      const { url } = await deleteWebhook(transaction, id)
      await recordAdminAction(transaction, 'webhooks.delete', id, origin, { url })
    })
    await interests.refresh()
  },
})

const test = operation({
  ...common,
  id: 'webhooks.test',
  method: 'POST',
  path: `${item}/test`,
  summary: 'Send a test event',
  description:
    'Makes one attempt, even if the webhook is disabled. The log of deliveries does not record it.',
  params,
  success: ok(WebhookTrial),
  async handle({ database, send }: WebhookDeps, { params: { id }, origin }) {
    const receiver = await getReceiver(database, id)
    await recordAdminAction(database, 'webhooks.test', id, origin)
    const record = { message: `Test of webhook ${id}` }
    const body = JSON.stringify({ action: 'test', table: '_basalt_test', record })
    const { success, statusCode, durationMs, error } = await send({ ...receiver, id: randomUUID(), body })
    return { success, statusCode, durationMs, error }
  },
})

export const webhookOperations = [list, create, get, update, remove, test]

/** @throws AppError invalid_webhook, webhook_target_refused */
export function readAllowedUrl({ outbound }: Pick<WebhookDeps, 'outbound'>, text: string): string {
  const url = readUrl(text)
  if (outbound.refuses(url)) throw webhookErrors.webhookTargetRefused()
  return url
}

/** Encrypts a secret for one webhook. */
export function seal(
  { secrets }: Pick<WebhookDeps, 'secrets'>,
  webhookId: string,
  secret: string | undefined,
): string | null {
  return secret === undefined ? null : secrets().seal(Buffer.from(secret, 'utf8'), secretContext(webhookId))
}

/** Returns the audit details: everything but the secret. */
function describe({ url, hasSecret, events, tables, enabled }: Webhook) {
  return { url, hasSecret, events, tables, enabled }
}
