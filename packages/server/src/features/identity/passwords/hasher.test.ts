import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { AppError } from '../../../lib/errors.ts'
import { createPasswordHasher } from './hasher.ts'
import { hashPassword } from './password-hash.ts'

const cheap = await hashPassword('secret', { memoryKib: 8, passes: 1, lanes: 1 })
const concurrency = Math.max(1, availableParallelism() - 1)

test('password hashing › rejects a storm of sign-ins beyond the queue, and completes every queued one', async () => {
  const hasher = createPasswordHasher()
  const room = concurrency + concurrency * 64
  const results = await Promise.allSettled(
    Array.from({ length: room + 20 }, (_, index) =>
      hasher.verify(index % 2 === 0 ? 'secret' : 'wrong', cheap),
    ),
  )
  const answered = results.slice(0, room)
  expect(answered.map((result) => result.status === 'fulfilled' && result.value)).toEqual(
    answered.map((_, index) => index % 2 === 0),
  )
  for (const result of results.slice(room)) {
    const error = result.status === 'rejected' ? result.reason : undefined
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({
      kind: 'too_many_sign_ins',
      status: 503,
      extras: { headers: { 'retry-after': '2' } },
    })
  }
})

test('password hashing › releases its slot when hashing fails', async () => {
  const hasher = createPasswordHasher()
  const impossible = cheap.replace('t=1', 't=0')
  const failures = Array.from({ length: concurrency * 3 }, () => hasher.verify('secret', impossible))
  for (const failure of failures) await expect(failure).rejects.toThrow('passes')
  expect(await hasher.verify('secret', cheap)).toBe(true)
  expect(await hasher.verify('secret', await hasher.hash('secret'))).toBe(true)
})

test('password hashing › matches no password against a hash of an unknown kind', async () => {
  const hasher = createPasswordHasher()
  for (const hash of ['', 'secret', '$firebase-scrypt$ln=14,r=8,p=1$c2FsdA$aGFzaA']) {
    expect([await hasher.verify('', hash), await hasher.verify('secret', hash)]).toEqual([false, false])
  }
})
