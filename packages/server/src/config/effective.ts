import { isDeepStrictEqual } from 'node:util'
import { allowsPrivateTargets, requiresRls } from './development.ts'
import { type Config, listSettings, settingOf } from './schema.ts'

/** A key of the configuration as it is in force. */
export interface EffectiveSetting {
  readonly key: string
  /** Null of a secret, set or not. */
  readonly value: unknown
  readonly isSecret: boolean
  readonly isDefault: boolean
  readonly env: string
  readonly description: string
}

export function listEffectiveSettings(config: Config): readonly EffectiveSetting[] {
  return listSettings().map(({ key, secret, env, description, ...setting }) => ({
    key,
    value: secret ? null : valueInForce(config, key),
    isSecret: secret,
    isDefault: isDeepStrictEqual(settingOf(config, key), setting.default),
    env,
    description,
  }))
}

/** What other keys make of those that are `auto`. */
const automaticValues: Readonly<Record<string, (config: Config) => boolean>> = {
  'database.require_rls': requiresRls,
  'webhooks.allow_private_targets': allowsPrivateTargets,
}

/** Returns the value of a key, and of one that is `auto` what that means beside the other keys. */
export function valueInForce(config: Config, key: string): unknown {
  const value = settingOf(config, key)
  return value === 'auto' ? (automaticValues[key]?.(config) ?? value) : value
}
