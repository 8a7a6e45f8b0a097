import { expect, test } from 'vitest'
import { policyStatement } from './policy-statement.ts'

const table = { schema: 'public', name: 'a.b' }

test('dashboard › access › policy statement › contains the qualified table name, the roles and the clauses', () => {
  expect(policyStatement(table, { name: 'own "x"', using: 'a = 1' }, true)).toBe(
    'alter policy "own ""x""" on "public"."a.b" using (a = 1);',
  )
  expect(
    policyStatement(
      table,
      { name: 'adds', command: 'INSERT', check: 'true', roles: ['public', 'Staff'] },
      false,
    ),
  ).toBe('create policy "adds" on "public"."a.b" for insert to public, "Staff" with check (true);')
  expect(policyStatement(table, { name: 'p', using: 'true', permissive: false }, false)).toBe(
    'create policy "p" on "public"."a.b" as restrictive for select using (true);',
  )
})
