import { afterAll, beforeEach, expect } from 'vitest'
import { haveReplica, takeReplicaReads } from './replica-reads.ts'

beforeEach(({ skip }) => skip(!haveReplica()))

// The apps of the file are closed first, because hooks run in reverse order.
afterAll(() => {
  if (haveReplica()) expect(takeReplicaReads()).toBeGreaterThan(0)
})
