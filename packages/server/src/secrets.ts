import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config/schema.ts'
import { codeOf, messageOf, OperatorError } from './lib/errors.ts'

/**
 * The key of the access tokens: the configured one, or beside the embedded database one that is generated once
 * and kept in the data directory for the owner alone.
 */
export function resolveJwtSecret(config: Config): string {
  if (config.auth.jwt_secret !== '') return config.auth.jwt_secret
  const directory = join(config.server.data_dir, 'secrets')
  const path = join(directory, 'jwt_secret')
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    try {
      // Of two first starts at once one creates the file, and both read it.
      writeFileSync(path, randomBytes(48).toString('base64url'), { flag: 'wx', mode: 0o600, flush: true })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const secret = readFileSync(path, 'utf8').trim()
    if (secret.length < 32)
      throw new OperatorError(`${path} is damaged: remove it to make a new one (signs everybody out)`)
    return secret
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot keep the token secret in ${path}: ${messageOf(error)}`)
  }
}
