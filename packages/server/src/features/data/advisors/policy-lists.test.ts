import { expect, test } from 'vitest'
import { compareWithArrays, selectByArrays } from './policy-lists.ts'

test.each([
  [
    '(team_id IN ( SELECT member.team_id FROM member WHERE (member.user_id = basalt.user_id())))',
    '(team_id = ANY (ARRAY( SELECT member.team_id FROM member WHERE (member.user_id = basalt.user_id()))))',
    ['team_id'],
  ],
  [
    "(((code)::text IN ( SELECT m.code FROM member m WHERE (m.name <> 'a ) b'::text))) AND (team_id IN ( SELECT teams() AS teams)))",
    "(((code)::text = ANY (ARRAY( SELECT m.code FROM member m WHERE (m.name <> 'a ) b'::text)))) AND (team_id = ANY (ARRAY( SELECT teams() AS teams))))",
    ['code', 'team_id'],
  ],
  [
    '((id IN ( SELECT note.id FROM note note_1)) OR (team_id IN ( SELECT note_1.id FROM note note_1)))',
    '((id IN ( SELECT note.id FROM note note_1)) OR (team_id = ANY (ARRAY( SELECT note_1.id FROM note note_1))))',
    ['team_id'],
  ],
])('compareWithArrays › rewrites %s', (expression, expected, columns) => {
  expect(compareWithArrays(expression, 'note')).toEqual({ columns, expression: expected })
  expect(compareWithArrays(expected, 'note').columns).toEqual([])
})

test.each([
  ['note', '(NOT (team_id IN ( SELECT member.team_id FROM member)))'],
  ['note', '(EXISTS ( SELECT 1 FROM member m WHERE (m.team_id = note.team_id)))'],
  ['note', '(team_id IN ( SELECT m.team_id FROM member m WHERE (m.note_id = note.id)))'],
  ['Odd "note', '(team_id IN ( SELECT m.team_id FROM member m WHERE (m.note_id = "Odd ""note".id)))'],
  ['note', '((team_id, owner) IN ( SELECT m.team_id, m.user_id FROM member m))'],
  ['note', "(body = 'team_id IN ( SELECT 1)'::text)"],
  ['note', '("team_id" IN ( SELECT 1))'],
  ['note', '(team_id = ANY (ARRAY[1, 2]))'],
])('compareWithArrays › leaves %s, %s unchanged', (table, expression) => {
  expect(compareWithArrays(expression, table)).toEqual({ columns: [], expression })
})

test.each([
  [
    '(EXISTS ( SELECT\n   FROM thing t\n  WHERE (t.id = note.thing_id)))',
    '(thing_id = ANY (ARRAY( SELECT t.id FROM thing t)))',
  ],
  [
    '((EXISTS ( SELECT 1 FROM member m WHERE ((note.team_id = m.team_id) AND (m.user_id = basalt.user_id())))) OR (owner = basalt.user_id()))',
    '((team_id = ANY (ARRAY( SELECT m.team_id FROM member m WHERE (true AND (m.user_id = basalt.user_id()))))) OR (owner = basalt.user_id()))',
  ],
])('selectByArrays › rewrites %s', (expression, expected) => {
  expect(selectByArrays(expression, 'note')?.expression).toBe(expected)
})

test.each([
  '(NOT (EXISTS ( SELECT FROM thing t WHERE (t.id = note.thing_id))))',
  '(EXISTS ( SELECT FROM thing t WHERE ((t.id = note.thing_id) OR t.is_open)))',
  '(EXISTS ( SELECT FROM thing t WHERE ((t.id = note.thing_id) AND (t.kind = note.kind))))',
  '(EXISTS ( SELECT FROM thing t WHERE (t.id > note.thing_id)))',
  'may_see(thing_id)',
])('selectByArrays › has no array form of %s', (expression) => {
  expect(selectByArrays(expression, 'note')).toBeUndefined()
})
