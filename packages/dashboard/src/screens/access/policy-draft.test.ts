import { expect, test } from 'vitest'
import type { ExplainedPolicy } from './api.ts'
import { draftOf, editOf, newPolicy } from './policy-draft.ts'

const owners: ExplainedPolicy = {
  ...{ name: 'owners', command: 'ALL', permissive: true, roles: ['basalt_authenticated'] },
  ...{ using: 'a = 1', check: null, isForCaller: true, stages: [] },
}

test('dashboard › access › policy trial › contains the changes of an existing policy, or a whole new policy', () => {
  expect(editOf(draftOf(owners), owners)).toEqual({ name: 'owners' })
  expect(editOf({ ...draftOf(owners), check: 'a = 2', roles: 'a, b,' }, owners)).toEqual({
    name: 'owners',
    check: 'a = 2',
    roles: ['a', 'b'],
  })
  expect(editOf(newPolicy('insert'), undefined)).toEqual({
    ...{ name: 'new policy', command: 'INSERT', permissive: true, roles: ['public'] },
  })
  // Clauses typed for another command are omitted.
  expect(editOf({ ...newPolicy('insert'), command: 'DELETE', using: 'b' }, undefined)).toEqual({
    ...{ name: 'new policy', command: 'DELETE', permissive: true, roles: ['public'], using: 'b' },
  })
})
