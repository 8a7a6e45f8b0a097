import type { Feature } from '../../../feature.ts'
import { addOperations, ok, operation } from '../../../http/operation.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authSettingsErrors } from './errors.ts'
import { type AuthSettings, AuthToggles } from './settings.ts'

export { authSettingsErrorTable } from './errors.ts'
export { AuthSettings } from './settings.ts'

/** Undefined without auth. */
type Settings = AuthSettings | undefined

/** Part of every description below. */
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
  method: 'GET',
  summary: 'Get which ways to sign in are open',
  handle: (settings: Settings) => requireSettings(settings).current,
})

const replace = operation({
  ...common,
  id: 'authSettings.replace',
  method: 'PUT',
  summary: 'Open and close ways to sign in',
  description: 'Replaces all switches: one that is left out is switched off.',
  body: component('AuthSettingsUpdate', Type.Partial(AuthToggles)),
  handle: (settings: Settings, { body, origin }) => requireSettings(settings).replace(body, origin),
})

const update = { ...replace, id: 'authSettings.update', method: 'PATCH' } as const

/** `/api/admin/auth-settings`: which ways to sign in are open. @param settings undefined without auth */
export function authSettings(settings: Settings): Feature {
  return {
    name: 'auth-settings',
    routes: (app) => addOperations(app, settings, [get, replace, update]),
  }
}

/** @throws AppError auth_disabled */
function requireSettings(settings: Settings): AuthSettings {
  if (settings === undefined) throw authSettingsErrors.authDisabled()
  return settings
}
