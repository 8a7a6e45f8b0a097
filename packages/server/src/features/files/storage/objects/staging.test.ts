import { expect, test } from 'vitest'
import { StoreFailed } from '../bytes/store.ts'
import { translateStoreFailure } from './staging.ts'

test.each([
  ['full', 507, 'storage is full', undefined],
  ['unavailable', 503, 'storage is unavailable', { 'retry-after': '5' }],
] as const)(
  'storage › translates the failure of a store that is %s into status %i',
  (reason, status, message, headers) => {
    const failure = translateStoreFailure(new StoreFailed(reason, new Error('ENOSPC: no space left')))
    expect(failure).toMatchObject({ status, message })
    expect((failure as { extras: { headers?: object } }).extras.headers).toEqual(headers)
  },
)

test('storage › returns an error unchanged when it is no failure of the store', () => {
  const error = new RangeError('x')
  expect(translateStoreFailure(error)).toBe(error)
})
