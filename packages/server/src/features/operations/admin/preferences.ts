import type { FastifyRequest } from 'fastify'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf, settingOf } from '../../../http/access/authentication.ts'
import { ok, operation } from '../../../http/operation.ts'
import { type Answered, choice, component, nullable } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

interface Deps {
  readonly database: SystemDatabase
}

const themes = ['system', 'light', 'dark'] as const

const Preferences = component(
  'DashboardPreferences',
  Type.Object({
    theme: choice(themes),
    foldedGroups: Type.Array(Type.String(), { description: 'Groups of the navigation that are folded.' }),
    lastTable: nullable(Type.String(), { description: 'Table that was opened last.' }),
  }),
)
type Preferences = Answered<typeof Preferences>

/** Returns the key of `basalt.settings` with the preferences of the administrator. */
const keyOf = (http: FastifyRequest) => settingOf('dashboard_preferences', adminOf(http))
const defaults: Preferences = { theme: 'system', foldedGroups: [], lastTable: null }

const common = {
  guard: 'admin',
  permission: 'account',
  path: '/api/admin/preferences',
  tag: 'admin',
} as const

const getPreferences = operation({
  ...common,
  id: 'admin.preferences',
  method: 'GET',
  summary: 'Get the preferences of the administrator in the dashboard',
  success: ok(Preferences),
  async handle({ database }: Deps, { http }) {
    const row = await database.maybeOne<Stored>(
      sql`select value from basalt.settings where key = ${keyOf(http)}`,
    )
    return { ...defaults, ...row?.value }
  },
})

const setPreferences = operation({
  ...common,
  id: 'admin.setPreferences',
  method: 'PATCH',
  summary: 'Change preferences of the administrator in the dashboard',
  description: 'Missing members keep their values.',
  body: Type.Object({
    theme: Type.Optional(choice(themes)),
    foldedGroups: Type.Optional(Type.Array(Type.String({ maxLength: 63 }), { maxItems: 20 })),
    lastTable: Type.Optional(Type.String({ maxLength: 200 })),
  }),
  success: ok(Preferences),
  async handle({ database }: Deps, { body: { theme, foldedGroups, lastTable }, http }) {
    const change = JSON.stringify({ theme, foldedGroups, lastTable })
    const { value } = await database.one<Stored>(sql`
      insert into basalt.settings as stored (key, value) values (${keyOf(http)}, ${change}::jsonb)
      on conflict (key) do update set value = stored.value || excluded.value, updated_at = now()
      returning value`)
    return { ...defaults, ...value }
  },
})

interface Stored {
  readonly value: Partial<Preferences>
}

/** Operations on the preferences of an administrator in the dashboard. */
export const preferenceOperations = [getPreferences, setPreferences]
