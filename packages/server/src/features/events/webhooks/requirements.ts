import type { Queryable } from '../../../database/system-database.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { webhookErrors } from './errors.ts'
import * as queries from './queries.ts'

/** @throws AppError webhook_not_found, for ids of any form */
export async function requireWebhook(
  database: Queryable,
  id: string,
  find: typeof queries.findWebhook = queries.findWebhook,
): Promise<queries.WebhookRow> {
  const row = isUuid(id) ? await find(database, id) : undefined
  if (row === undefined) throw webhookErrors.webhookNotFound()
  return row
}

/** @throws AppError webhook_not_found, delivery_not_found, for ids of any form */
export async function requireDelivery(
  database: Queryable,
  id: string,
  deliveryId: string,
): Promise<queries.DeliveryRow> {
  await requireWebhook(database, id)
  const row = isUuid(deliveryId) ? await queries.findDelivery(database, id, deliveryId) : undefined
  if (row === undefined) throw webhookErrors.deliveryNotFound()
  return row
}
