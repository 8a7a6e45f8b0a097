import { expect, test } from 'vitest'
import { wrapSessionCalls } from './policy-calls.ts'

test.each([
  ['(owner_id = basalt.user_id())', '(owner_id = (select basalt.user_id()))'],
  [
    "(NULLIF(current_setting('basalt.user_id'::text, true), ''::text) = owner)",
    "(NULLIF((select current_setting('basalt.user_id'::text, true)), ''::text) = owner)",
  ],
  [
    '((owner = basalt.user_id()) OR (basalt.aal() = note))',
    '((owner = (select basalt.user_id())) OR ((select basalt.aal()) = note))',
  ],
  [
    '(EXISTS ( SELECT 1 FROM member m WHERE (m.user_id = basalt.user_id())))',
    '(EXISTS ( SELECT 1 FROM member m WHERE (m.user_id = (select basalt.user_id()))))',
  ],
])('wrapSessionCalls › wraps %s', (expression, expected) => {
  expect(wrapSessionCalls(expression)).toBe(expected)
  // A wrapped expression stays unchanged.
  expect(wrapSessionCalls(expected)).toBe(expected)
})

test.each([
  '(owner_id = ( SELECT basalt.user_id() AS user_id))',
  "(name = 'basalt.user_id()'::text)",
  '("basalt.user_id()" = 1)',
  "(owner = ( SELECT (NULLIF(current_setting('basalt.user_id'::text, true), ''::text))::uuid AS \"nullif\"))",
  '(my_basalt.user_id() = owner)',
  'true',
])('wrapSessionCalls › leaves %s unchanged', (expression) => {
  expect(wrapSessionCalls(expression)).toBe(expression)
})
