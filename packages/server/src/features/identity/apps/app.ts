import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import {
  type Answered,
  component,
  nullable,
  type PageRequest,
  readPage,
  timestamp,
} from '../../../http/schemas.ts'
import { codeOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'

/** App that API keys and OAuth clients belong to. Its requests are limited and counted together. */
export const App = component(
  'App',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    description: Type.String(),
    ownerUserId: nullable(Type.String({ format: 'uuid' }), {
      description: 'null for the default app, and after the owner was deleted.',
    }),
    rateLimitRps: Type.Integer({ description: 'Requests per window. 0 means no limit.' }),
    rateLimitWindowSeconds: Type.Integer(),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type App = Answered<typeof App>

/** Members of an app that a request sets. An undefined limit stays unchanged. */
export interface AppValues {
  readonly name: string
  readonly description: string
  readonly rateLimit: number | undefined
  readonly windowSeconds: number | undefined
}

export const defaultWindowSeconds = 60

const columns = sql`
  id, name, description, owner_user_id as "ownerUserId", rate_limit as "rateLimitRps",
  rate_limit_window_seconds as "rateLimitWindowSeconds", created_at as "createdAt", updated_at as "updatedAt"`

/** Returns a page of the apps, the newest first. */
export async function listApps(database: Queryable, request: PageRequest) {
  const { page, perPage, offset } = readPage(request)
  const items = await database.many<App>(sql`
    select ${columns} from basalt.apps order by created_at desc, id limit ${perPage} offset ${offset}`)
  const { total } = await database.one<{ total: number }>(sql`select count(*)::int as total from basalt.apps`)
  return { items, page, perPage, totalItems: total, totalPages: Math.ceil(total / perPage) }
}

export async function findApp(database: Queryable, id: string): Promise<App | undefined> {
  return await database.maybeOne<App>(sql`select ${columns} from basalt.apps where id = ${id}`)
}

/**
 * Counts the permits of the window that ends now, as `basalt.lease_permits` does. This includes permits that
 * nodes hold ahead of requests, at most one in twenty-five.
 */
export async function countUsedPermits(database: Queryable, id: string): Promise<number> {
  const { used } = await database.one<{ used: number }>(sql`
    select coalesce(sum(l.permits), 0)::int as used
    from basalt.permit_leases l join basalt.apps a on a.id = l.app_id
    where l.app_id = ${id}
      and l.ends_at > clock_timestamp() - make_interval(secs => a.rate_limit_window_seconds)`)
  return used
}

/** Inserts an app. Returns undefined when the owner does not exist. */
export async function insertApp(
  database: Queryable,
  ownerUserId: string,
  { name, description, rateLimit = 0, windowSeconds = defaultWindowSeconds }: AppValues,
): Promise<App | undefined> {
  const insert = database.one<App>(sql`
    insert into basalt.apps (name, description, owner_user_id, rate_limit, rate_limit_window_seconds)
    values (${name}, ${description}, ${ownerUserId}, ${rateLimit}, ${windowSeconds})
    returning ${columns}`)
  return await insert.catch((error) => {
    if (codeOf(error) === '23503') return undefined
    throw error
  })
}

/** Updates an app. Returns undefined when it does not exist. */
export async function updateApp(
  database: Queryable,
  id: string,
  { name, description, rateLimit, windowSeconds }: AppValues,
): Promise<App | undefined> {
  return await database.maybeOne<App>(sql`
    update basalt.apps set name = ${name}, description = ${description}, updated_at = now(),
      rate_limit = coalesce(${rateLimit ?? null}::int, rate_limit),
      rate_limit_window_seconds = coalesce(${windowSeconds ?? null}::int, rate_limit_window_seconds)
    where id = ${id}
    returning ${columns}`)
}
