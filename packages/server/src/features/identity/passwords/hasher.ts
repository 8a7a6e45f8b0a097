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
    help: 'Checking passwords is slow on purpose, and too many checks are queued. Try again in a moment.',
  },
} as const

const passwordErrors = defineErrors(passwordErrorTable)

/**
 * Hasher that hashes and checks only a few passwords at a time, so that a storm of sign-ins does not starve
 * other requests.
 */
export interface PasswordHasher {
  /** Computes the hash of a password. @throws AppError too_many_sign_ins */
  hash(password: string): Promise<string>
  /**
   * Checks a password against a stored hash. Without a hash, or with one of an unknown kind, it takes equally
   * long and returns false. The duration therefore does not reveal whether there is a hash.
   *
   * @throws AppError too_many_sign_ins
   */
  verify(password: string, hash: string | undefined): Promise<boolean>
  /** Returns whether a valid hash should be replaced because of another algorithm or a lower cost than today's. */
  isOutdated(hash: string): boolean
}

/** Maximum queue length in hashes per core, about two seconds. Waiting longer is useless. */
const queueLimitPerCore = 64

export function createPasswordHasher(cost: Argon2Cost = defaultCost): PasswordHasher {
  const concurrency = Math.max(1, availableParallelism() - 1)
  const slots = createSlots({
    longestQueue: concurrency * queueLimitPerCore,
    createRefusal: passwordErrors.tooManySignIns,
  })
  const withSlot = <Result>(work: () => Promise<Result>) => slots.take('', concurrency, work)
  /** Hash that no password matches. */
  let decoy: Promise<string> | undefined

  return {
    hash: (password) => withSlot(() => hashPassword(password, cost)),
    async verify(password, hash) {
      decoy ??= hashPassword('', cost)
      const isKnown = hash !== undefined && isPasswordHash(hash)
      const stored = isKnown ? hash : await decoy
      const isRight = await withSlot(() => verifyPassword(password, stored))
      return isRight && isKnown
    },
    isOutdated: (hash) => isOutdated(hash, cost),
  }
}
