import { isDeepStrictEqual } from 'node:util'
import { allowsPrivateTargets, type Deployment, requiresRls } from './development.ts'
import { type Setting, settingOf } from './settings.ts'

/** Lists the keys with their values in force. */
export function listEffectiveSettings(settings: readonly Setting[], config: Deployment) {
  return settings.map(({ key, secret, env, description, ...setting }) => ({
    key,
    /** A secret is null, whether it is set or not. */
    value: secret ? null : valueInForce(config, key),
    isSecret: secret,
    isDefault: isDeepStrictEqual(settingOf(config, key), setting.default),
    env,
    description,
  }))
}

/** Lists the keys whose values differ. */
export function listChangedKeys(settings: readonly Setting[], before: object, after: object): string[] {
  return settings
    .map(({ key }) => key)
    .filter((key) => !isDeepStrictEqual(settingOf(before, key), settingOf(after, key)))
}

/** Functions that return the value of `auto` keys, from the other keys. */
const automaticValues: Readonly<Record<string, (config: Deployment) => boolean>> = {
  'database.require_rls': requiresRls,
  'webhooks.allow_private_targets': allowsPrivateTargets,
}

/** Returns the value of a key. For `auto` it returns the value that the other keys imply. */
export function valueInForce(config: Deployment, key: string): unknown {
  const value = settingOf(config, key)
  return value === 'auto' ? (automaticValues[key]?.(config) ?? value) : value
}
