import type { FastifyRequest } from 'fastify'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requirePermission } from '../../../http/access/grants.ts'
import { created, noContent, ok, operation } from '../../../http/operation.ts'
import { limitParameter } from '../../../http/requests/filters.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type Answered, checkedText, component, requiredByHandler, timestamp } from '../../../http/schemas.ts'
import { codeOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { sqlRunnerErrors } from './errors.ts'
import { cursor, cut, listedLength, nextCursor } from './listed-text.ts'
import { readQuery, SqlText } from './request.ts'

export interface SavedQueryDeps {
  readonly database: { readonly system: SystemDatabase }
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'sql.read', tag: 'SQL' } as const
const collection = '/api/admin/sql/saved'
const item = `${collection}/:id`
const params = Type.Object({ id: Type.String({ description: 'UUID.' }) })

const members = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String({ description: 'Name of the query. The parts before its slashes are folders.' }),
  query: Type.String(),
  version: Type.Integer(),
  createdAt: timestamp,
  updatedAt: timestamp,
}

/** Query saved by name. */
const SavedSql = component('SavedSql', Type.Object(members))
type SavedSql = Answered<typeof SavedSql>

/** Saved query in a list, with the first characters of its text. */
const ListedSql = component('ListedSql', Type.Object({ ...members, ...cut }))

const maxNameLength = 200
const name = checkedText(maxNameLength)
const columns = sql`id, name, query, version, created_at as "createdAt", updated_at as "updatedAt"`
const pageLimit = limitParameter(50, 200)

const list = operation({
  ...common,
  id: 'sql.listSaved',
  method: 'GET',
  path: collection,
  summary: 'List saved queries',
  description: 'The queries are sorted by name, with the first 300 characters of each.',
  query: Type.Object({
    q: Type.Optional(Type.String({ description: 'Part of the name.' })),
    limit: pageLimit.schema,
    cursor,
  }),
  success: ok(Type.Object({ items: Type.Array(ListedSql), nextCursor })),
  async handle({ database }: SavedQueryDeps, { query }) {
    const { q = '', cursor: after = '' } = query
    const limit = pageLimit.read(query.limit)
    const rows = await database.system.many<Answered<typeof ListedSql>>(sql`
      select id, name, left(query, ${listedLength}::int) as query, char_length(query) as "queryLength",
        char_length(query) > ${listedLength}::int as "isCut", version, created_at as "createdAt",
        updated_at as "updatedAt"
      from basalt.saved_queries
      where strpos(lower(name), lower(${q})) > 0 and name > ${after}
      order by name
      limit ${limit + 1}::int`)
    const items = rows.slice(0, limit)
    return { items, nextCursor: rows.length > limit ? items.at(-1)?.name : undefined }
  },
})

const get = operation({
  ...common,
  id: 'sql.getSaved',
  method: 'GET',
  path: item,
  summary: 'Get a saved query',
  params,
  success: ok(SavedSql),
  async handle({ database }: SavedQueryDeps, { params: { id } }) {
    const found = isUuid(id) ? await findSaved(database.system, id) : undefined
    if (found === undefined) throw sqlRunnerErrors.savedQueryNotFound()
    return found
  },
})

const save = operation({
  ...common,
  id: 'sql.save',
  method: 'POST',
  path: collection,
  summary: 'Save a query',
  body: Type.Object({ name: requiredByHandler(name), query: requiredByHandler(SqlText) }),
  success: created(SavedSql),
  handle: ({ database }: SavedQueryDeps, { body, http, origin }) =>
    named(readName(body.name), async (name) => {
      const query = readQuery(body.query)
      return await database.system.transaction(async (transaction) => {
        const saved = await transaction.one<SavedSql>(
          sql`insert into basalt.saved_queries (name, query, administrator_id)
            values (${name}, ${query}, ${adminOf(http).administratorId ?? null}) returning ${columns}`,
        )
        await audit(transaction, 'save', saved, origin)
        return saved
      })
    }),
})

const change = operation({
  ...common,
  id: 'sql.changeSaved',
  method: 'PUT',
  path: item,
  summary: 'Change a saved query',
  params,
  body: Type.Object({
    name: Type.Optional(name),
    query: Type.Optional(SqlText),
    version: requiredByHandler(
      Type.Integer({ description: 'Version of the query as it was read. Another version is a conflict.' }),
    ),
  }),
  success: ok(SavedSql),
  handle: ({ database }: SavedQueryDeps, { params: { id }, body, http, origin }) =>
    named(body.name === undefined ? undefined : readName(body.name), async (name) => {
      if (!isUuid(id)) throw sqlRunnerErrors.savedQueryNotFound()
      const { version } = body
      if (version === undefined) throw sqlRunnerErrors.invalidSqlRequest('version is required')
      const changes: Sql[] = []
      if (name !== undefined) changes.push(sql`name = ${name}`)
      if (body.query !== undefined) changes.push(sql`query = ${readQuery(body.query)}`)
      if (changes.length === 0) throw sqlRunnerErrors.invalidSqlRequest('name or query is required')
      return await database.system.transaction(async (transaction) => {
        await requireAuthor(transaction, id, http)
        const saved = await transaction.maybeOne<SavedSql>(sql`
          update basalt.saved_queries
          set ${sql.join(changes)}, version = version + 1, updated_at = now()
          where id = ${id}::uuid and version = ${version}::int
          returning ${columns}`)
        if (saved === undefined) {
          const current = await findSaved(transaction, id)
          if (current === undefined) throw sqlRunnerErrors.savedQueryNotFound()
          throw sqlRunnerErrors.savedQueryChanged().with({ data: { current } })
        }
        await audit(transaction, 'save', saved, origin)
        return saved
      })
    }),
})

const forget = operation({
  ...common,
  id: 'sql.forgetSaved',
  method: 'DELETE',
  path: item,
  summary: 'Delete a saved query',
  params,
  success: noContent,
  async handle({ database }: SavedQueryDeps, { params: { id }, http, origin }) {
    if (!isUuid(id)) throw sqlRunnerErrors.savedQueryNotFound()
    await database.system.transaction(async (transaction) => {
      await requireAuthor(transaction, id, http)
      const removed = await transaction.maybeOne<SavedSql>(
        sql`delete from basalt.saved_queries where id = ${id}::uuid returning ${columns}`,
      )
      if (removed === undefined) throw sqlRunnerErrors.savedQueryNotFound()
      await audit(transaction, 'forget', removed, origin)
    })
  },
})

/** Operations on queries saved by name. */
export const savedQueryOperations = [list, get, save, change, forget]

async function findSaved(database: Queryable, id: string): Promise<SavedSql | undefined> {
  return await database.maybeOne<SavedSql>(
    sql`select ${columns} from basalt.saved_queries where id = ${id}::uuid`,
  )
}

async function audit(
  transaction: Queryable,
  act: 'save' | 'forget',
  { id: target, name }: SavedSql,
  origin: RequestOrigin,
): Promise<void> {
  await recordAudit(transaction, { actor: 'admin', action: `sql.${act}`, target, detail: { name }, origin })
}

/** Runs work that gives a query its unique name. @throws AppError saved_query_name_taken */
async function named<Name extends string | undefined, Result>(
  name: Name,
  work: (name: Name) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(name)
  } catch (error) {
    if (codeOf(error) === '23505') throw sqlRunnerErrors.savedQueryNameTaken(name ?? '')
    throw error
  }
}

/** Reads a name such as `reports/sales/by month`, in which no folder is empty and none has blanks around its name. */
function readName(input = ''): string {
  const name = input.normalize('NFC')
  if (name.trim() === '') throw sqlRunnerErrors.invalidSqlRequest('name is required')
  if ([...name].length > maxNameLength)
    throw sqlRunnerErrors.invalidSqlRequest(`name must have at most ${maxNameLength} characters`)
  const isPath = name.split('/').every((part) => part !== '' && part.trim() === part) && !/\p{Cc}/u.test(name)
  if (!isPath) throw sqlRunnerErrors.invalidSqlRequest('name must be a path such as reports/sales')
  return name
}

/**
 * Rejects a change of another administrator's query, except by owners, who may run it with their rights. The row is locked
 * until the transaction ends.
 *
 * @throws AppError insufficient_role
 */
async function requireAuthor(transaction: Queryable, id: string, http: FastifyRequest): Promise<void> {
  const administrator = adminOf(http)
  const row = await transaction.maybeOne<{ administrator_id: string | null }>(
    sql`select administrator_id from basalt.saved_queries where id = ${id}::uuid for update`,
  )
  const isAuthor = row !== undefined && row.administrator_id === administrator.administratorId
  if (row !== undefined && !isAuthor) requirePermission(administrator, 'owner')
}
