import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { codeOf } from '../../../lib/errors.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { sqlRunnerErrors } from './errors.ts'
import { listedLength } from './queries.ts'
import { readQuery } from './request.ts'

/** A query kept by name; folders are the parts of the name before its slashes. */
export interface SavedQuery {
  readonly id: string
  readonly name: string
  readonly query: string
  readonly version: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** With the first characters of its text. */
export interface ListedQuery extends SavedQuery {
  readonly queryLength: number
  readonly isCut: boolean
}

export interface SavedQueryPage {
  readonly items: readonly ListedQuery[]
  /** Absent on the last page. */
  readonly nextCursor?: string
}

export interface SaveQuery {
  readonly name?: string
  readonly query?: string
  /** Of the query as the client has read it. */
  readonly version?: number
}

export interface SavedQueries {
  /** By name. @param page.after the name after which it begins */
  list(page: {
    readonly search: string | undefined
    readonly after: string | undefined
    readonly limit: number
  }): Promise<SavedQueryPage>
  /** @throws AppError saved_query_not_found */
  get(id: string): Promise<SavedQuery>
  /** @throws AppError invalid_sql_request, saved_query_name_taken */
  create(input: SaveQuery, origin: RequestOrigin): Promise<SavedQuery>
  /** @throws AppError invalid_sql_request, saved_query_not_found, saved_query_name_taken, saved_query_changed */
  update(id: string, input: SaveQuery, origin: RequestOrigin): Promise<SavedQuery>
  /** @throws AppError saved_query_not_found */
  delete(id: string, origin: RequestOrigin): Promise<void>
}

interface Row {
  readonly id: string
  readonly name: string
  readonly query: string
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
}

const columns = sql`id, name, query, version, created_at, updated_at`
const maxNameLength = 200

export function createSavedQueries(database: SystemDatabase): SavedQueries {
  const audit = (transaction: Queryable, act: string, { id, name }: Row, origin: RequestOrigin) =>
    recordAudit(transaction, { actor: 'admin', action: `sql.${act}`, target: id, detail: { name }, origin })

  return {
    async list({ search = '', after = '', limit }) {
      const rows = await database.many<Row & { readonly query_length: number }>(sql`
        select id, name, left(query, ${listedLength}::int) as query, char_length(query) as query_length, version,
          created_at, updated_at
        from basalt.saved_queries
        where strpos(lower(name), lower(${search})) > 0 and name > ${after}
        order by name
        limit ${limit + 1}::int`)
      const items = rows.slice(0, limit).map(({ query_length: queryLength, ...row }) => ({
        ...show(row),
        queryLength,
        isCut: queryLength > listedLength,
      }))
      const last = rows.length > limit ? items.at(-1) : undefined
      return { items, ...(last === undefined ? {} : { nextCursor: last.name }) }
    },
    async get(id) {
      const row = isUuid(id)
        ? await database.maybeOne<Row>(
            sql`select ${columns} from basalt.saved_queries where id = ${id}::uuid`,
          )
        : undefined
      if (row === undefined) throw sqlRunnerErrors.savedQueryNotFound()
      return show(row)
    },
    create: (input, origin) =>
      named(readName(input.name), (name) => {
        const query = readQuery(input.query)
        return database.transaction(async (transaction) => {
          const row = await transaction.one<Row>(
            sql`insert into basalt.saved_queries (name, query) values (${name}, ${query}) returning ${columns}`,
          )
          await audit(transaction, 'save', row, origin)
          return show(row)
        })
      }),
    update: (id, input, origin) =>
      named(input.name === undefined ? undefined : readName(input.name), (name) => {
        if (!isUuid(id)) throw sqlRunnerErrors.savedQueryNotFound()
        if (input.version === undefined) throw sqlRunnerErrors.invalidSqlRequest('version is required')
        const changes: Sql[] = []
        if (name !== undefined) changes.push(sql`name = ${name}`)
        if (input.query !== undefined) changes.push(sql`query = ${readQuery(input.query)}`)
        if (changes.length === 0) throw sqlRunnerErrors.invalidSqlRequest('name or query is required')
        return database.transaction(async (transaction) => {
          const row = await transaction.maybeOne<Row>(sql`
            update basalt.saved_queries
            set ${sql.join(changes)}, version = version + 1, updated_at = now()
            where id = ${id}::uuid and version = ${input.version}::int
            returning ${columns}`)
          if (row === undefined) {
            const current = await transaction.maybeOne<Row>(
              sql`select ${columns} from basalt.saved_queries where id = ${id}::uuid`,
            )
            if (current === undefined) throw sqlRunnerErrors.savedQueryNotFound()
            throw sqlRunnerErrors.savedQueryChanged().with({ data: { current: show(current) } })
          }
          await audit(transaction, 'save', row, origin)
          return show(row)
        })
      }),
    async delete(id, origin) {
      if (!isUuid(id)) throw sqlRunnerErrors.savedQueryNotFound()
      await database.transaction(async (transaction) => {
        const row = await transaction.maybeOne<Row>(
          sql`delete from basalt.saved_queries where id = ${id}::uuid returning ${columns}`,
        )
        if (row === undefined) throw sqlRunnerErrors.savedQueryNotFound()
        await audit(transaction, 'forget', row, origin)
      })
    },
  }
}

/** Runs what gives a query the name, which only one can have. */
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

/** `reports/sales/by month`: no folder without a name, no blanks around one. */
function readName(given = ''): string {
  const name = given.normalize('NFC')
  if (name.trim() === '') throw sqlRunnerErrors.invalidSqlRequest('name is required')
  if ([...name].length > maxNameLength)
    throw sqlRunnerErrors.invalidSqlRequest(`name must have at most ${maxNameLength} characters`)
  const isPath = name.split('/').every((part) => part !== '' && part.trim() === part) && !/\p{Cc}/u.test(name)
  if (!isPath) throw sqlRunnerErrors.invalidSqlRequest('name must be a path such as reports/sales')
  return name
}

function show({ created_at, updated_at, ...row }: Row): SavedQuery {
  return { ...row, createdAt: created_at.toISOString(), updatedAt: updated_at.toISOString() }
}
