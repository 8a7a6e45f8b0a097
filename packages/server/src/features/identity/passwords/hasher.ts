import { availableParallelism } from 'node:os'
import { defineErrors } from '../../../lib/errors.ts'
import { createSlots } from '../../operations/throttle/index.ts'
import {
  type Argon2Cost,
  defaultCost,
  hashPassword,
  isOutdated,
  isPasswordHash,
  verifyPassword,
} from './password-hash.ts'

export const passwordErrorTable = {
  tooManySignIns: {
    status: 503,
    message: 'too many sign-ins at the moment',
    help: 'Checking passwords is slow on purpose and too many wait for it. Try again in a moment.',
  },
} as const

const passwordErrors = defineErrors(passwordErrorTable)

/** Hashes and checks passwords, a few at a time: a storm of sign-ins must not take the machine from the rest. */
export interface PasswordHasher {
  /** @throws AppError too_many_sign_ins */
  hash(password: string): Promise<string>
  /**
   * Checks a password against a stored hash. Without a hash, and with one of an unknown kind, it takes as long and
   * answers false, so that the time does not disclose whether there is one.
   *
   * @throws AppError too_many_sign_ins
   */
  verify(password: string, hash: string | undefined): Promise<boolean>
  /** Whether a hash that verifies should be replaced: another algorithm or a lower cost than today's. */
  isOutdated(hash: string): boolean
}

/** Waiting longer than this many hashes take, about two seconds per core, is useless. */
const queueLimitPerCore = 64

export function createPasswordHasher(cost: Argon2Cost = defaultCost): PasswordHasher {
  const concurrency = Math.max(1, availableParallelism() - 1)
  const slots = createSlots({
    longestQueue: concurrency * queueLimitPerCore,
    createRefusal: passwordErrors.tooManySignIns,
  })
  const inTurn = <Result>(work: () => Promise<Result>) => slots.take('', concurrency, work)
  /** A hash of no password. */
  let decoy: Promise<string> | undefined

  return {
    hash: (password) => inTurn(() => hashPassword(password, cost)),
    async verify(password, hash) {
      decoy ??= hashPassword('', cost)
      const isKnown = hash !== undefined && isPasswordHash(hash)
      const stored = isKnown ? hash : await decoy
      const isRight = await inTurn(() => verifyPassword(password, stored))
      return isRight && isKnown
    },
    isOutdated: (hash) => isOutdated(hash, cost),
  }
}
