import { hkdfSync, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config/schema.ts'
import { codeOf, messageOf, OperatorError } from './lib/errors.ts'

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
  const derived = Buffer.from(hkdfSync('sha256', resolveJwtSecret(config), '', 'basalt secrets at rest', 32))
  if (encryption_key !== '') return [decodeKey(encryption_key), ...previous, derived]
  if (config.database.url !== '') return [derived, ...previous]
  const kept = keepSecret(config, 'encryption_key', 'makes enrolled authenticator apps useless')
  return [Buffer.from(hkdfSync('sha256', kept, '', 'basalt secrets at rest', 32)), ...previous]
}

function decodeKey(text: string): Buffer {
  return Buffer.from(text, text.length === 64 ? 'hex' : 'base64')
}

/** A secret that is generated once and kept in the data directory for the owner alone. */
function keepSecret(config: Config, name: string, loss: string): string {
  const directory = join(config.server.data_dir, 'secrets')
  const path = join(directory, name)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
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
