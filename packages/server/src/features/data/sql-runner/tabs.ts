import type { FastifyRequest } from 'fastify'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf, settingOf } from '../../../http/access/authentication.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { Type } from '../../../lib/type.ts'
import { sqlRunnerErrors } from './errors.ts'
import { redactStatement } from './redact.ts'

interface Deps {
  readonly database: { readonly system: SystemDatabase }
}

/** Returns the key of `basalt.settings` with the tabs of the administrator, by their ids. */
const keyOf = (http: FastifyRequest) => settingOf('sql_tabs', adminOf(http))
const mostTabs = 20

const common = { guard: 'admin', permission: 'sql.read', tag: 'SQL' } as const
const item = '/api/admin/sql/tabs/:id'
const params = Type.Object({
  id: Type.String({ pattern: '^[0-9a-z]{1,32}$', description: 'Id that the client has chosen.' }),
})
const text = Type.String({ maxLength: 100_000, description: 'Text of the tab.' })

const list = operation({
  ...common,
  id: 'sql.listTabs',
  method: 'GET',
  path: '/api/admin/sql/tabs',
  summary: 'List the tabs of the SQL editor',
  description: 'The tabs are sorted by id.',
  success: ok(Type.Object({ items: Type.Array(Type.Object({ id: Type.String(), text })) })),
  async handle({ database }: Deps, { http }) {
    const items = await database.system.many<{ id: string; text: string }>(sql`
      select t.key as id, t.value as text from basalt.settings s, jsonb_each_text(s.value) t
      where s.key = ${keyOf(http)} order by t.key collate "C"`)
    return { items }
  },
})

const put = operation({
  ...common,
  id: 'sql.putTab',
  method: 'PUT',
  path: item,
  summary: 'Store a tab of the SQL editor',
  description: `At most ${mostTabs} tabs are stored. Passwords in statements are stored as \`[redacted]\`.`,
  params,
  body: Type.Object({ text }),
  success: noContent,
  async handle({ database }: Deps, { params: { id }, body, http }) {
    const stored = await database.system.maybeOne(sql`
      insert into basalt.settings as stored (key, value)
      values (${keyOf(http)}, jsonb_build_object(${id}::text, ${redactStatement(body.text)}::text))
      on conflict (key) do update set value = stored.value || excluded.value, updated_at = now()
      where stored.value ? ${id} or (select count(*) from jsonb_object_keys(stored.value)) < ${mostTabs}::int
      returning key`)
    if (stored === undefined) throw sqlRunnerErrors.tooManySqlTabs(mostTabs)
  },
})

const close = operation({
  ...common,
  id: 'sql.deleteTab',
  method: 'DELETE',
  path: item,
  summary: 'Delete a tab of the SQL editor',
  params,
  success: noContent,
  async handle({ database }: Deps, { params: { id }, http }) {
    await database.system.count(sql`
      update basalt.settings set value = value - ${id}::text, updated_at = now() where key = ${keyOf(http)}`)
  },
})

/** Operations on the tabs of an administrator's SQL editor. */
export const tabOperations = [list, put, close]
