import { isDeepStrictEqual } from 'node:util'
import { allowsPrivateTargets, type Deployment, requiresRls } from './development.ts'
import { type Setting, settingOf } from './settings.ts'

/** Lists the keys with their values in force. */
export function listEffectiveSettings(settings: readonly Setting[], config: Deployment) {
  return settings.map(({ key, secret, env, description, ...setting }) => ({
    key,
    /** Null of a secret, set or not. */
    value: secret ? null : valueInForce(config, key),
    isSecret: secret,
    isDefault: isDeepStrictEqual(settingOf(config, key), setting.default),
    env,
    description,
  }))
}

/** Values of keys that are `auto`, by the other keys. */
const automaticValues: Readonly<Record<string, (config: Deployment) => boolean>> = {
  'database.require_rls': requiresRls,
  'webhooks.allow_private_targets': allowsPrivateTargets,
}

/** Returns the value of a key, and of one that is `auto` what that means beside the other keys. */
export function valueInForce(config: Deployment, key: string): unknown {
  const value = settingOf(config, key)
  return value === 'auto' ? (automaticValues[key]?.(config) ?? value) : value
}
