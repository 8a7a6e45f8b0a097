import { hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from './configuration.ts'
import { codeOf, messageOf, OperatorError } from './lib/errors.ts'
import { keyId } from './lib/secret-box.ts'

/**
 * The key of the access tokens: the configured one, or beside the embedded database one that is generated once
 * and kept in the data directory for the owner alone.
 */
export function resolveJwtSecret(config: Config): string {
  return config.auth.jwt_secret || keepSecret(config, 'jwt_secret', 'signs everybody out')
}

/**
 * The keys of secrets at rest, the current one first. Without a configured one: a generated one beside the embedded
 * database, else one made from the secret of the access tokens; that one also opens what was sealed before a key was
 * configured.
 */
export function resolveEncryptionKeys(config: Config): [Buffer, ...Buffer[]] {
  const { encryption_key, previous_encryption_keys } = config.auth
  const previous = previous_encryption_keys.split(',').filter(Boolean).map(decodeKey)
  if (encryption_key !== '') {
    // A secret that is yet to be generated has sealed nothing.
    const hasSecret = config.auth.jwt_secret !== '' || existsSync(pathOf(config, 'jwt_secret'))
    const derived = hasSecret ? [deriveKey(resolveJwtSecret(config))] : []
    return [decodeKey(encryption_key), ...previous, ...derived]
  }
  if (config.database.url !== '') return [deriveKey(resolveJwtSecret(config)), ...previous]
  const kept = keepSecret(config, 'encryption_key', 'makes enrolled authenticator apps useless')
  return [deriveKey(kept), ...previous]
}

/** Of the embedded database's superuser, over TCP; the socket asks for none. */
export function embeddedPassword(config: Config): { readonly file: string; read(): string } {
  const name = 'postgres_password'
  return {
    file: pathOf(config, name),
    read: () => keepSecret(config, name, 'the next start sets it'),
  }
}

function deriveKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'basalt secrets at rest', 32))
}

/** Secrets at rest: what they are for, and how many each key has sealed. */
export interface SealedSecrets {
  readonly kind: string
  readonly countByKey: ReadonlyMap<string, number>
}

/**
 * Refuses a start that could not open what is stored. Called before a secret is generated, so that the file of a lost
 * one is not taken by another.
 *
 * @throws OperatorError with how many secrets no key opens and what to do
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

/** `3 stored secrets (TOTP 2, webhooks 1)`. */
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

/** A secret that is generated once and kept in the data directory for the owner alone. */
function keepSecret(config: Config, name: string, loss: string): string {
  const path = pathOf(config, name)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    try {
      // Of two first starts at once one creates the file, and both read it.
      writeFileSync(path, randomBytes(48).toString('base64url'), { flag: 'wx', mode: 0o600, flush: true })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const secret = readFileSync(path, 'utf8').trim()
    if (secret.length < 32) {
      throw new OperatorError(`${path} is damaged: remove it to make a new one (${loss})`)
    }
    return secret
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot keep a secret in ${path}: ${messageOf(error)}`)
  }
}
