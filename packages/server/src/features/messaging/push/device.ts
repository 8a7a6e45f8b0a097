import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { pushErrors } from './errors.ts'
import { type ProviderName, providerNames, type WebPushKeys } from './provider.ts'

export const platforms = ['android', 'ios', 'web'] as const
export type Platform = (typeof platforms)[number]

/** Device that receives messages of an app. */
export const PushDevice = component(
  'PushDevice',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    app_id: Type.String({ format: 'uuid' }),
    user_id: Type.String({ format: 'uuid' }),
    provider: choice(providerNames),
    platform: choice(platforms),
    token: Type.String(),
    device_name: Type.String(),
    topics: Type.Array(Type.String()),
    is_active: Type.Boolean(),
    inactive_reason: nullable(Type.String(), {
      description: "`revoked`, also by the end of the session that registered it, or the provider's reason.",
    }),
    last_refreshed_at: timestamp,
    last_used: nullable(timestamp),
    created_at: timestamp,
    updated_at: timestamp,
  }),
)
export type PushDevice = Answered<typeof PushDevice>

export interface Registration {
  readonly appId: string
  readonly userId: string
  /** Session that registered the device and ends it. Undefined for an administrator. */
  readonly sessionId: string | undefined
  readonly provider: ProviderName
  readonly platform: Platform
  readonly token: string
  readonly tokenHash: Buffer
  readonly keys: WebPushKeys | undefined
  readonly deviceName: string
  /** Topics of the device. Undefined keeps the existing ones. */
  readonly topics: readonly string[] | undefined
}

export interface DeviceFilter {
  readonly appId?: string | undefined
  readonly userId?: string | undefined
  readonly includesInactive: boolean
  readonly limit: number
  readonly offset: number
}

const columns = sql`id, app_id, user_id, provider, platform, token, device_name, topics, is_active, inactive_reason,
  last_refreshed_at, last_used, created_at, updated_at`

/** Registers a device. A known one moves to the current user and session, and is active again. */
export function registerDevice(database: Queryable, device: Registration): Promise<PushDevice> {
  const keys = device.keys === undefined ? null : JSON.stringify(device.keys)
  const topics = device.topics ?? null
  return database.one<PushDevice>(sql`
    insert into basalt.push_devices as d
      (app_id, user_id, session_id, provider, platform, token, token_hash, keys, device_name, topics)
    values (${device.appId}, ${device.userId}, ${device.sessionId ?? null}::uuid, ${device.provider}, ${device.platform}, ${device.token},
      ${device.tokenHash}, ${keys}::jsonb, ${device.deviceName}, coalesce(${topics}::text[], '{}'))
    on conflict (app_id, provider, token_hash) do update set
      user_id = excluded.user_id, session_id = excluded.session_id, platform = excluded.platform, keys = excluded.keys,
      device_name = case when excluded.device_name = '' then d.device_name else excluded.device_name end,
      -- Topics are the user's, not the device's.
      topics = case when ${topics}::text[] is not null then excluded.topics
        when d.user_id = excluded.user_id then d.topics else '{}' end,
      is_active = true, inactive_reason = null, last_refreshed_at = now(), updated_at = now()
    returning ${columns}`)
}

/** Lists devices, the newest first. */
export function listDevices(database: Queryable, filter: DeviceFilter): Promise<PushDevice[]> {
  const conditions: Sql[] = [
    ...(filter.appId === undefined ? [] : [sql`app_id = ${filter.appId}`]),
    ...(filter.userId === undefined ? [] : [sql`user_id = ${filter.userId}`]),
    ...(filter.includesInactive ? [] : [sql`is_active`]),
  ]
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return database.many<PushDevice>(sql`
    select ${columns} from basalt.push_devices ${where}
    order by created_at desc, id desc limit ${filter.limit} offset ${filter.offset}`)
}

export function findDevice(database: Queryable, id: string): Promise<PushDevice | undefined> {
  return database.maybeOne<PushDevice>(sql`select ${columns} from basalt.push_devices where id = ${id}`)
}

/** Revokes a device. @param userId required owner; undefined: any. @returns whether the device exists */
export async function revokeDevice(database: Queryable, id: string, userId?: string): Promise<boolean> {
  const owner = userId === undefined ? sql.empty : sql`and user_id = ${userId} and is_active`
  const count = await database.count(sql`
    update basalt.push_devices set
      is_active = false, inactive_reason = coalesce(inactive_reason, 'revoked'), updated_at = now()
    where id = ${id} ${owner}`)
  return count > 0
}

/** Rejects a device of a missing app or user. @throws AppError push_app_not_found, push_user_not_found */
export async function requireOwners(
  database: Queryable,
  appId: string,
  userId: string | undefined,
): Promise<void> {
  const exists = await database.one<{ app: boolean; user: boolean }>(sql`
    select exists (select from basalt.apps where id = ${appId}) as app,
      exists (select from basalt.users where id = ${userId ?? null}) as user`)
  if (!exists.app) throw pushErrors.pushAppNotFound()
  if (userId !== undefined && !exists.user) throw pushErrors.pushUserNotFound()
}
