import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * Cost of Argon2id. The default is OWASP's first recommendation (Password Storage Cheat Sheet: 19 MiB, 2
 * passes, 1 lane), of which a core computes about thirty hashes a second. Hashes are stored in the PHC string
 * form.
 */
export interface Argon2Cost {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
}

export const defaultCost: Argon2Cost = { memoryKib: 19_456, passes: 2, lanes: 1 }

const saltBytes = 16
const keyBytes = 32

const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

const bcryptForm = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

/** Derivation that runs on libuv's threads, not on the event loop. */
const derive = promisify(argon2)

export async function hashPassword(password: string, cost: Argon2Cost = defaultCost): Promise<string> {
  const salt = randomBytes(saltBytes)
  const key = await derive('argon2id', parameters(password, salt, keyBytes, cost))
  const { memoryKib, passes, lanes } = cost
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${encode(salt)}$${encode(key)}`
}

/** Returns whether {@link verifyPassword} supports the hash. */
export function isPasswordHash(hash: string): boolean {
  return bcryptForm.test(hash) || phc.test(hash)
}

/** Returns whether the hash uses another algorithm or a lower cost. */
export function isOutdated(hash: string, cost: Argon2Cost = defaultCost): boolean {
  const [, memory = '0', passes = '0'] = phc.exec(hash) ?? []
  return Number(memory) < cost.memoryKib || Number(passes) < cost.passes
}

/**
 * Verifies a password against an Argon2id hash, or against bcrypt for imported accounts.
 *
 * @throws Error when the stored hash is neither
 */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  if (bcryptForm.test(hash)) return await (await import('@node-rs/bcrypt')).verify(password, hash)
  const [, memory = '', passes = '', lanes = '', salt = '', key = ''] = phc.exec(hash) ?? []
  if (key === '') throw new Error('unknown password hash')
  const expected = Buffer.from(key, 'base64')
  const cost: Argon2Cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) }
  const actual = await derive(
    'argon2id',
    parameters(password, Buffer.from(salt, 'base64'), expected.length, cost),
  )
  return timingSafeEqual(actual, expected)
}

function parameters(password: string, nonce: Buffer, tagLength: number, cost: Argon2Cost): Argon2Parameters {
  // Two Unicode forms of the same characters are the same password (NIST SP 800-63B §3.1.1.2).
  const message = Buffer.from(password.normalize('NFKC'), 'utf8')
  return { message, nonce, tagLength, memory: cost.memoryKib, passes: cost.passes, parallelism: cost.lanes }
}

/** Encodes bytes as base64 without padding, as in PHC strings. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
