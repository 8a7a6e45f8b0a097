import { expect, test } from 'vitest'
import { TrialLoads } from './trial-loads.ts'

test('TrialLoads › load one deploy at a time, and one that is loading once', async () => {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<string | undefined>>()
  const trials = new TrialLoads((folder, hash) => {
    begun.push(`${folder} ${hash}`)
    const end = Promise.withResolvers<string | undefined>()
    ends.set(hash, end)
    return end.promise
  })
  const first = [trials.findProblem('/a', 'a'), trials.findProblem('/a', 'a')]
  const second = trials.findProblem('/b', 'b')
  await Promise.resolve()
  expect(begun).toEqual(['/a a'])
  ends.get('a')?.resolve('broken')
  expect(await Promise.all(first)).toEqual(['broken', 'broken'])
  expect(begun).toEqual(['/a a', '/b b'])
  // The next promotion of the same deploy loads it again, after those that wait.
  const again = trials.findProblem('/a', 'a')
  ends.get('b')?.reject(new Error('the server stops'))
  await expect(second).rejects.toThrow('the server stops')
  await Promise.resolve()
  ends.get('a')?.resolve(undefined)
  expect(await again).toBeUndefined()
  expect(begun).toEqual(['/a a', '/b b', '/a a'])
})
