import { isDeepStrictEqual } from 'node:util'
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
  return listSettings().map(({ key, secret, env, description, ...setting }) => {
    const value = settingOf(config, key)
    return {
      key,
      value: secret ? null : value,
      isSecret: secret,
      isDefault: isDeepStrictEqual(value, setting.default),
      env,
      description,
    }
  })
}
