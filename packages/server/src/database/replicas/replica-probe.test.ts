import { expect, test } from 'vitest'
import { findMismatch, type PrimaryState, type ReplicaState } from './replica-probe.ts'

const identity = { system: '7', database: 'app', collation: '153.120' }
const primary: PrimaryState = { ...identity, timeline: 2, flushed: 10n, inserted: 10n }
const replica: ReplicaState = { ...identity, isStandby: true, replayed: 9n, timeline: 2 }

test.each<[string, Partial<ReplicaState>, string | undefined]>([
  ['a standby', {}, undefined],
  ['a standby whose timeline the login may not see', { timeline: null }, undefined],
  ['another cluster', { system: '8' }, 'system'],
  ['another database', { database: 'other' }, 'database'],
  ['a primary', { isStandby: false }, 'standby'],
  ['another timeline', { timeline: 1 }, 'timeline'],
  ['another version of the collation', { collation: '153.14' }, 'collation'],
  ['a provider without versions', { collation: null }, 'collation'],
])('findMismatch › judges %s', (_, difference, kind) => {
  expect(findMismatch({ ...replica, ...difference }, primary)?.kind).toBe(kind)
})
