import { countWebhookSecretsByKey } from '../../../features/events/webhooks/index.ts'
import { countSecretsByKey } from '../../../features/functions/secrets/index.ts'
import { countTotpSecretsByKey } from '../../../features/identity/mfa/index.ts'
import { countClientSecretsByKey } from '../../../features/identity/social-login/index.ts'
import { countPushCredentialsByKey } from '../../../features/messaging/push/index.ts'
import { OperatorError } from '../../../lib/errors.ts'
import { requireKeysOf } from '../../../secrets.ts'
import { type Check, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

/** Check of the keys that sign tokens and seal secrets: stored secrets can be opened. */
export const keys: Check = {
  id: 'keys',
  async run({ config, database }) {
    const { auth } = config
    if (!auth.enabled) throw new CheckSkipped('auth.enabled is false: nothing is signed')
    const sealed = await database.readPrepared(async (transaction) => [
      { kind: 'TOTP', countByKey: await countTotpSecretsByKey(transaction) },
      { kind: 'webhooks', countByKey: await countWebhookSecretsByKey(transaction) },
      { kind: 'sign-in providers', countByKey: await countClientSecretsByKey(transaction) },
      { kind: 'push providers', countByKey: await countPushCredentialsByKey(transaction) },
      { kind: 'secrets of functions', countByKey: await countSecretsByKey(transaction) },
    ])
    try {
      requireKeysOf(config, sealed)
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const fix = 'encryption_key = "…"   # in [auth]: the key that sealed them, from a backup'
      return [failure('keys', error.message, fix)]
    }
    if (config.database.url !== '' && auth.encryption_key === '') {
      return [
        warning(
          'keys',
          'auth.encryption_key is derived from auth.jwt_secret, so replacing the latter makes stored secrets useless',
          'BASALT_AUTH_ENCRYPTION_KEY_FILE=/run/secrets/encryption   # before the first secret is stored; afterwards keep auth.jwt_secret',
        ),
      ]
    }
    return [ok('keys', 'the configured keys open all stored secrets')]
  },
}
