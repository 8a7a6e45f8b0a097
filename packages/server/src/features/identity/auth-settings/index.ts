import type { Feature } from '../../../feature.ts'
import { addOperations, ok, operation } from '../../../http/operation.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authSettingsErrors } from './errors.ts'
import { type AuthSettings, AuthToggles } from './settings.ts'

export { authSettingsErrorTable } from './errors.ts'
export { AuthSettings } from './settings.ts'

/** Settings of authentication. Undefined without auth. */
type Settings = AuthSettings | undefined

/** Members that every description below shares. */
const common = {
  guard: 'admin',
  permission: 'owner',
  tag: 'admin',
  path: '/api/admin/auth-settings',
  success: ok(AuthToggles),
} as const

const get = operation({
  ...common,
  id: 'authSettings.get',
  permission: 'settings.read',
  method: 'GET',
  summary: 'Get the enabled sign-in methods',
  handle: (settings: Settings) => requireSettings(settings).current,
})

const replace = operation({
  ...common,
  id: 'authSettings.replace',
  stepUp: 'always',
  method: 'PUT',
  summary: 'Replace the enabled sign-in methods',
  description: 'Replaces all switches. A missing one is turned off.',
  body: component('AuthSettingsUpdate', Type.Partial(AuthToggles)),
  handle: (settings: Settings, { body, origin }) => requireSettings(settings).replace(body, origin),
})

const update = { ...replace, id: 'authSettings.update', method: 'PATCH' } as const

/** Makes `/api/admin/auth-settings`, with the enabled sign-in methods. @param settings undefined without auth */
export function authSettings(settings: Settings): Feature {
  return {
    name: 'auth-settings',
    routes: (app) => addOperations(app, settings, [get, replace, update]),
  }
}

/** Returns the settings. @throws AppError auth_disabled */
function requireSettings(settings: Settings): AuthSettings {
  if (settings === undefined) throw authSettingsErrors.authDisabled()
  return settings
}
