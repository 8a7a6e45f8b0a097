import type { Queryable } from '../../../database/system-database.ts'
import { findOwners } from './devices.ts'
import { pushErrors } from './errors.ts'

/** @throws AppError push_app_not_found, push_user_not_found */
export async function requireOwners(
  transaction: Queryable,
  appId: string,
  userId: string | undefined,
): Promise<void> {
  const found = await findOwners(transaction, { appId, userId })
  if (!found.app) throw pushErrors.pushAppNotFound()
  if (userId !== undefined && !found.user) throw pushErrors.pushUserNotFound()
}
