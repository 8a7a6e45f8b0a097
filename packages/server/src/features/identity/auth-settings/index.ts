import type { Feature } from '../../../feature.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import { bearerSecurity, component, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authSettingsErrors } from './errors.ts'
import { type AuthSettings, pickToggles, toggleNames } from './settings.ts'

export { authSettingsErrorTable } from './errors.ts'
export { AuthSettings, type AuthToggles } from './settings.ts'

const toggles = component(
  'AuthSettings',
  Type.Object(Object.fromEntries(toggleNames.map((name) => [name, Type.Boolean()]))),
)
const partialToggles = component(
  'AuthSettingsUpdate',
  Type.Object(Object.fromEntries(toggleNames.map((name) => [name, Type.Optional(Type.Boolean())]))),
)

/** `/api/admin/auth-settings`: which ways to sign in are open. @param inForce undefined without auth */
export function authSettings(inForce: AuthSettings | undefined): Feature {
  const requireSettings = () => {
    if (inForce === undefined) throw authSettingsErrors.authDisabled()
    return inForce
  }
  return {
    name: 'auth-settings',
    routes(app) {
      const common = { tags: ['admin'], security: bearerSecurity, response: responses({ 200: toggles }) }
      app.get(
        '/api/admin/auth-settings',
        {
          config: { guard: 'admin', operation: 'authSettings.get' },
          schema: { ...common, summary: 'Which ways to sign in are open' },
        },
        async (_request, reply) => reply.send(requireSettings().current),
      )
      for (const method of ['PATCH', 'PUT'] as const) {
        app.route({
          method,
          url: '/api/admin/auth-settings',
          config: {
            guard: 'admin',
            operation: method === 'PUT' ? 'authSettings.replace' : 'authSettings.update',
          },
          schema: {
            ...common,
            summary: 'Open and close ways to sign in',
            description: 'Replaces all switches: one that is left out is switched off.',
            body: partialToggles,
          },
          async handler(request, reply) {
            const given = request.body as Readonly<Partial<Record<string, boolean>>>
            const replaced = await requireSettings().replace(
              pickToggles((name) => given[name] === true),
              originOf(request),
            )
            return reply.send(replaced)
          },
        })
      }
    },
  }
}
