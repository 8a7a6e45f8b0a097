import type { SystemDatabase } from '../../../database/system-database.ts'
import { defaultAppId } from '../../../http/access/identity.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type PageRequest, readPage } from '../../../http/schemas.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { appErrors } from './errors.ts'
import {
  type AppRow,
  countUsedPermits,
  deleteApp,
  findApp,
  insertApp,
  listApps,
  updateApp,
} from './queries.ts'

export interface AppInput {
  readonly name?: string
  readonly description?: string
  readonly ownerUserId?: string
  readonly rateLimitRps?: number
  readonly rateLimitWindowSeconds?: number
}

/** Who acts, for the audit. */
export interface Actor {
  readonly actor: string
  readonly origin?: RequestOrigin
}

const nameLimit = 200
const defaultWindowSeconds = 60

/** The administration of apps. */
export class AppService {
  readonly #database: SystemDatabase
  /** This node's keys may be of an app that has changed. */
  readonly #onChange: () => void

  constructor(database: SystemDatabase, onChange: () => void) {
    this.#database = database
    this.#onChange = onChange
  }

  async list(request: PageRequest) {
    const { page, perPage, offset } = readPage(request)
    const { apps, total } = await listApps(this.#database, { limit: perPage, offset })
    const items = apps.map(describeApp)
    return { items, page, perPage, totalItems: total, totalPages: Math.ceil(total / perPage) }
  }

  /** @throws AppError invalid_request, app_not_found */
  async get(id: string) {
    const app = await findApp(this.#database, requireId(id))
    if (app === undefined) throw appErrors.appNotFound()
    return describeApp(app)
  }

  /** How much of its rate limit an app has used. @throws AppError invalid_request, app_not_found */
  async getRateLimit(id: string) {
    const { rateLimitRps: limit, rateLimitWindowSeconds: windowSeconds } = await this.get(id)
    const used = limit === 0 ? 0 : Math.min(limit, await countUsedPermits(this.#database, id))
    return { limit, windowSeconds, used, remaining: limit === 0 ? null : limit - used }
  }

  /** @throws AppError invalid_app */
  async create(input: AppInput, { actor, origin }: Actor) {
    const name = readName(input.name)
    const { ownerUserId = '' } = input
    if (ownerUserId === '') throw appErrors.invalidApp('ownerUserId is required')
    if (!isUuid(ownerUserId)) throw appErrors.invalidApp('invalid ownerUserId format')
    const { rateLimit = 0, windowSeconds = defaultWindowSeconds } = readLimit(input)
    const description = readDescription(input)
    const app = await this.#database.transaction(async (transaction) => {
      const values = { name, description, ownerUserId, rateLimit, windowSeconds }
      const created = await insertApp(transaction, values)
      if (created === undefined) throw appErrors.invalidApp('owner user not found')
      const detail = { name, rateLimitRps: rateLimit, rateLimitWindowSeconds: windowSeconds }
      await recordAudit(transaction, { actor, action: 'apps.create', target: created.id, detail, origin })
      return created
    })
    return describeApp(app)
  }

  /** @throws AppError invalid_app, app_not_found */
  async update(id: string, input: AppInput, { actor, origin }: Actor) {
    requireId(id)
    const values = {
      name: readName(input.name),
      description: readDescription(input),
      ...readLimit(input),
    }
    const app = await this.#database.transaction(async (transaction) => {
      const updated = await updateApp(transaction, id, values)
      if (updated === undefined) throw appErrors.appNotFound()
      const { name, rate_limit: rateLimitRps, rate_limit_window_seconds: rateLimitWindowSeconds } = updated
      const detail = { name, rateLimitRps, rateLimitWindowSeconds }
      await recordAudit(transaction, { actor, action: 'apps.update', target: id, detail, origin })
      return updated
    })
    this.#onChange()
    return describeApp(app)
  }

  /** @throws AppError app_not_found, default_app_kept */
  async delete(id: string, { actor, origin }: Actor): Promise<void> {
    if (requireId(id).toLowerCase() === defaultAppId) throw appErrors.defaultAppKept()
    await this.#database.transaction(async (transaction) => {
      if (!(await deleteApp(transaction, id))) throw appErrors.appNotFound()
      await recordAudit(transaction, { actor, action: 'apps.delete', target: id, origin })
    })
    this.#onChange()
  }
}

function describeApp(app: AppRow) {
  return {
    id: app.id,
    name: app.name,
    description: app.description,
    ownerUserId: app.owner_user_id,
    rateLimitRps: app.rate_limit,
    rateLimitWindowSeconds: app.rate_limit_window_seconds,
    createdAt: app.created_at.toISOString(),
    updatedAt: app.updated_at.toISOString(),
  }
}

function requireId(id: string): string {
  if (!isUuid(id)) throw appErrors.invalidApp('invalid app id format')
  return id
}

function readName(given = ''): string {
  const name = given.trim()
  if (name === '') throw appErrors.invalidApp('name is required')
  if (name.length > nameLimit) throw appErrors.invalidApp(`name: at most ${nameLimit} characters`)
  // Postgres has no NUL in texts.
  if (name.includes('\0')) throw appErrors.invalidApp('name: NUL is not allowed')
  if (!name.isWellFormed()) throw appErrors.invalidApp('name: expected well-formed Unicode')
  return name
}

function readDescription({ description = '' }: AppInput): string {
  if (description.includes('\0')) throw appErrors.invalidApp('description: NUL is not allowed')
  return description
}

/** What is not given is left out. */
function readLimit({ rateLimitRps, rateLimitWindowSeconds }: AppInput) {
  if ((rateLimitRps ?? 0) < 0 || (rateLimitWindowSeconds ?? 0) < 0) {
    throw appErrors.invalidApp('rate limit values must be non-negative')
  }
  return {
    ...(rateLimitRps === undefined ? {} : { rateLimit: rateLimitRps }),
    ...(rateLimitWindowSeconds === undefined
      ? {}
      : { windowSeconds: rateLimitWindowSeconds === 0 ? defaultWindowSeconds : rateLimitWindowSeconds }),
  }
}
