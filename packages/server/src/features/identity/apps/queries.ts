import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { codeOf } from '../../../lib/errors.ts'

/** A row of `basalt.apps`. */
export interface AppRow {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly owner_user_id: string | null
  readonly rate_limit: number
  readonly rate_limit_window_seconds: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly [column: string]: unknown
}

export interface NewApp {
  readonly name: string
  readonly description: string
  readonly ownerUserId: string
  readonly rateLimit: number
  readonly windowSeconds: number
}

const columns = sql`id, name, description, owner_user_id, rate_limit, rate_limit_window_seconds, created_at, updated_at`

/** The newest first, and how many there are. */
export async function listApps(
  database: Queryable,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly apps: readonly AppRow[]; readonly total: number }> {
  const apps = await database.many<AppRow>(sql`
    select ${columns} from basalt.apps order by created_at desc, id limit ${limit} offset ${offset}`)
  const { total } = await database.one<{ total: number }>(sql`select count(*)::int as total from basalt.apps`)
  return { apps, total }
}

export async function findApp(database: Queryable, id: string): Promise<AppRow | undefined> {
  return await database.maybeOne<AppRow>(sql`select ${columns} from basalt.apps where id = ${id}`)
}

/**
 * Permits of the window that ends now, as `basalt.lease_permits` counts them: those that nodes hold ahead of requests, one
 * in twenty-five at most, are among them.
 */
export async function countUsedPermits(database: Queryable, id: string): Promise<number> {
  const { used } = await database.one<{ used: number }>(sql`
    select coalesce(sum(l.permits), 0)::int as used
    from basalt.permit_leases l join basalt.apps a on a.id = l.app_id
    where l.app_id = ${id}
      and l.ends_at > clock_timestamp() - make_interval(secs => a.rate_limit_window_seconds)`)
  return used
}

/** Undefined when there is no such owner. */
export async function insertApp(database: Queryable, app: NewApp): Promise<AppRow | undefined> {
  const insert = database.one<AppRow>(sql`
    insert into basalt.apps (name, description, owner_user_id, rate_limit, rate_limit_window_seconds)
    values (${app.name}, ${app.description}, ${app.ownerUserId}, ${app.rateLimit}, ${app.windowSeconds})
    returning ${columns}`)
  return await insert.catch((error) => {
    if (codeOf(error) === '23503') return undefined
    throw error
  })
}

/** Undefined when there is no such app. Limits that are not given stay. */
export async function updateApp(
  database: Queryable,
  id: string,
  app: Pick<NewApp, 'name' | 'description'> & Partial<Pick<NewApp, 'rateLimit' | 'windowSeconds'>>,
): Promise<AppRow | undefined> {
  return await database.maybeOne<AppRow>(sql`
    update basalt.apps set name = ${app.name}, description = ${app.description}, updated_at = now(),
      rate_limit = coalesce(${app.rateLimit ?? null}::int, rate_limit),
      rate_limit_window_seconds = coalesce(${app.windowSeconds ?? null}::int, rate_limit_window_seconds)
    where id = ${id}
    returning ${columns}`)
}

/** Its keys are revoked with it. @returns whether there was such an app */
export async function deleteApp(database: Queryable, id: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.apps where id = ${id}`)) > 0
}
