import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, messageOf, OperatorError } from './errors.ts'

/** Number of reads, and pause between them, while another process writes the file that it has created. */
const readAttempts = 100
const readPauseMs = 10

/**
 * Reads a secret that is generated once, and stored for the owner of the file alone.
 *
 * @param loss consequence of another secret, for the operator
 * @throws OperatorError for a file that cannot be used
 */
export function keepSecret(path: string, loss: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    try {
      // If two first starts run at once, one of them creates the file, and both read it.
      writeFileSync(path, randomBytes(48).toString('base64url'), { flag: 'wx', mode: 0o600, flush: true })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const secret = readWritten(path)
    if (secret.length < 32) {
      throw new OperatorError(`${path} is damaged: remove it to make a new one (${loss})`)
    }
    return secret
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`cannot keep a secret in ${path}: ${messageOf(error)}`)
  }
}

/** Reads the file, which is empty for a moment when another process creates it. */
function readWritten(path: string): string {
  for (let attempt = 1; ; attempt += 1) {
    const secret = readFileSync(path, 'utf8').trim()
    if (secret !== '' || attempt === readAttempts) return secret
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, readPauseMs)
  }
}
