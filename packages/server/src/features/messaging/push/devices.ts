import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { ProviderName, WebPushKeys } from './provider.ts'

export type Platform = 'android' | 'ios' | 'web'

export interface DeviceRow {
  readonly id: string
  readonly app_id: string
  readonly user_id: string
  readonly provider: ProviderName
  readonly platform: Platform
  readonly token: string
  readonly device_name: string
  readonly topics: string[]
  readonly is_active: boolean
  readonly inactive_reason: string | null
  readonly last_refreshed_at: Date
  readonly last_used: Date | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly [column: string]: unknown
}

export interface Registration {
  readonly appId: string
  readonly userId: string
  /** The session it is registered in, with which it ends; undefined for an administrator. */
  readonly sessionId: string | undefined
  readonly provider: ProviderName
  readonly platform: Platform
  readonly token: string
  readonly tokenHash: Buffer
  readonly keys: WebPushKeys | undefined
  readonly deviceName: string
  /** Undefined keeps those it has. */
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

/** Registers a device. One that is known moves to the user and the session of now, and is active again. */
export function registerDevice(database: Queryable, device: Registration): Promise<DeviceRow> {
  const keys = device.keys === undefined ? null : JSON.stringify(device.keys)
  const topics = device.topics ?? null
  return database.one<DeviceRow>(sql`
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

/** The newest first. */
export function listDevices(database: Queryable, filter: DeviceFilter): Promise<DeviceRow[]> {
  const conditions: Sql[] = [
    ...(filter.appId === undefined ? [] : [sql`app_id = ${filter.appId}`]),
    ...(filter.userId === undefined ? [] : [sql`user_id = ${filter.userId}`]),
    ...(filter.includesInactive ? [] : [sql`is_active`]),
  ]
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return database.many<DeviceRow>(sql`
    select ${columns} from basalt.push_devices ${where}
    order by created_at desc, id desc limit ${filter.limit} offset ${filter.offset}`)
}

export function findDevice(database: Queryable, id: string): Promise<DeviceRow | undefined> {
  return database.maybeOne<DeviceRow>(sql`select ${columns} from basalt.push_devices where id = ${id}`)
}

/** @param userId whose device it has to be; undefined: anybody's. @returns whether there is such a device */
export async function revokeDevice(database: Queryable, id: string, userId?: string): Promise<boolean> {
  const owner = userId === undefined ? sql.empty : sql`and user_id = ${userId} and is_active`
  const count = await database.count(sql`
    update basalt.push_devices set
      is_active = false, inactive_reason = coalesce(inactive_reason, 'revoked'), updated_at = now()
    where id = ${id} ${owner}`)
  return count > 0
}

/** Whether there are such an app and such a user, as far as asked for. */
export async function findOwners(
  database: Queryable,
  { appId, userId }: { readonly appId: string; readonly userId?: string | undefined },
): Promise<{ readonly app: boolean; readonly user: boolean }> {
  return await database.one<{ app: boolean; user: boolean }>(sql`
    select exists (select from basalt.apps where id = ${appId}) as app,
      exists (select from basalt.users where id = ${userId ?? null}) as user`)
}
