import { hkdfSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './configuration.ts'
import { OperatorError } from './lib/errors.ts'
import { keepSecret } from './lib/kept-secret.ts'
import { keyId } from './lib/secret-box.ts'

/**
 * Returns the key of the access tokens. It is the configured one. With the embedded database it may be one that
 * is generated once and stored in the data directory for the owner alone.
 */
export function resolveJwtSecret(config: Config): string {
  return config.auth.jwt_secret || keepSecret(pathOf(config, 'jwt_secret'), 'signs everybody out')
}

/**
 * Returns the keys of secrets at rest, the current one first. Without a configured key it is a generated one
 * with the embedded database. Otherwise it is derived from the secret of the access tokens, and also opens
 * secrets that were sealed before a key was configured.
 */
export function resolveEncryptionKeys(config: Config): [Buffer, ...Buffer[]] {
  const { encryption_key, previous_encryption_keys } = config.auth
  const previous = previous_encryption_keys.split(',').filter(Boolean).map(decodeKey)
  if (encryption_key !== '') {
    // A secret that has not been generated yet has sealed nothing.
    const hasSecret = config.auth.jwt_secret !== '' || existsSync(pathOf(config, 'jwt_secret'))
    const derived = hasSecret ? [deriveKey(resolveJwtSecret(config))] : []
    return [decodeKey(encryption_key), ...previous, ...derived]
  }
  if (config.database.url !== '') return [deriveKey(resolveJwtSecret(config)), ...previous]
  const kept = keepSecret(pathOf(config, 'encryption_key'), 'makes enrolled authenticator apps useless')
  return [deriveKey(kept), ...previous]
}

function deriveKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'basalt secrets at rest', 32))
}

/** Secrets at rest of one kind, counted by the key that sealed them. */
export interface SealedSecrets {
  readonly kind: string
  readonly countByKey: ReadonlyMap<string, number>
}

/**
 * Rejects a start that could not open stored secrets. It is called before a secret is generated, so that a lost
 * file is not replaced by another one.
 *
 * @throws OperatorError with the number of secrets that no key opens and the remedy
 */
export function requireKeysOf(config: Config, sealed: readonly SealedSecrets[]): void {
  if (sealed.every(({ countByKey }) => countByKey.size === 0)) return
  const generated = pathOf(config, 'encryption_key')
  const isGenerated = config.auth.encryption_key === '' && config.database.url === ''
  if (isGenerated && !existsSync(generated)) {
    throw new OperatorError(
      `${generated} is missing, and ${countSealed(sealed, () => true)} were sealed with it: ` +
        'put it back from a backup (docs/guides/backup.md)',
    )
  }
  const known = new Set(resolveEncryptionKeys(config).map(keyId))
  const isLost = (key: string) => !known.has(key)
  if (!sealed.some(({ countByKey }) => [...countByKey.keys()].some(isLost))) return
  throw new OperatorError(
    `no configured key opens ${countSealed(sealed, isLost)}: ` +
      (isGenerated
        ? `put the ${generated} that sealed them back from a backup`
        : 'set auth.encryption_key to the key that sealed them, or add it to auth.previous_encryption_keys') +
      ' (docs/guides/backup.md)',
  )
}

/** Formats a count such as `3 stored secrets (TOTP 2, webhooks 1)`. */
function countSealed(sealed: readonly SealedSecrets[], isCounted: (key: string) => boolean): string {
  const counts = sealed.map(({ kind, countByKey }) => ({
    kind,
    count: [...countByKey].reduce((sum, [key, count]) => (isCounted(key) ? sum + count : sum), 0),
  }))
  const total = counts.reduce((sum, { count }) => sum + count, 0)
  const parts = counts.map(({ kind, count }) => `${kind} ${count}`).join(', ')
  return `${total} stored secrets (${parts})`
}

function decodeKey(text: string): Buffer {
  return Buffer.from(text, text.length === 64 ? 'hex' : 'base64')
}

function pathOf(config: Config, name: string): string {
  return join(config.server.data_dir, 'secrets', name)
}
