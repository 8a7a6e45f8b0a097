import { describe, expect, test } from 'vitest'
import type { Relation } from './catalog/model.ts'
import {
  type Capture,
  captureTriggerName,
  changedRow,
  leaveChanges,
  replaceChanges,
  requireCapturedBy,
  takeChanges,
  withCapture,
} from './change-log.ts'
import { type Call, statement } from './connection/message.ts'
import { type Sql, sql } from './sql.ts'
import { textOf, textOfSql } from './tests/recording.ts'

const textOnly = (fragment: Sql) => textOfSql(fragment)[0]

describe('change log › SQL', () => {
  test('leaves the created record in a setting of the transaction, and returns a short result', () => {
    expect(textOnly(sql`select ${leaveChanges(sql`row_to_json(w)`)} from w`)).toBe(
      "select (set_config('basalt.changed_rows', row_to_json(w)::text, true) is null) from w",
    )
  })

  test('leaves an update with the record before it', () => {
    const change = changedRow(sql`row_to_json(w)`, sql`row_to_json(o)`)
    expect(textOnly(leaveChanges(sql`json_agg(${change})`))).toBe(
      "(set_config('basalt.changed_rows', " +
        "json_agg(json_build_object('record', row_to_json(w), 'oldRecord', row_to_json(o)))::text, true) is null)",
    )
  })

  test('replaces the changes of a write by a parameter', () => {
    expect(textOfSql(replaceChanges(sql`${'[{"id":1}]'}`))).toEqual([
      "select set_config('basalt.changed_rows', $1::text, true) is null",
      '[{"id":1}]',
    ])
  })

  test('reads the changes of the write before it', () => {
    expect(textOnly(takeChanges)).toBe("current_setting('basalt.changed_rows')::json")
  })
})

describe('change log › steps of a write', () => {
  const write: Call = { statement: statement('insert into note (body) values ($1)'), values: ['tea'] }
  const append = { statement: statement('select basalt.append_changes($1)'), values: ['note'], asLogin: true }
  const capture: Capture = {
    after: [append],
    takesChanges: true,
    committed: () => undefined,
    doubt: () => undefined,
  }

  test('are the write alone without a listener', () => {
    expect(withCapture(write, undefined).map(textOf)).toEqual([
      ['insert into note (body) values ($1)', 'tea'],
    ])
  })

  test('append the changes right after the write with a listener', () => {
    expect(withCapture(write, capture).map(textOf)).toEqual([
      ['insert into note (body) values ($1)', 'tea'],
      ['select basalt.append_changes($1)', 'note'],
    ])
  })

  test.each([
    ['create', 'basalt_capture_insert', 'INSERT 16385;'],
    ['update', 'basalt_capture_update', 'UPDATE 16385;'],
    ['delete', 'basalt_capture_delete', 'DELETE 16385;'],
  ] as const)('fail after a %s unless the trigger %s has noted %j', (action, trigger, note) => {
    const { oid }: Pick<Relation, 'oid'> = { oid: '16385' }
    const [text, ...parameters] = textOf(requireCapturedBy({ oid } as Relation, action))
    expect(captureTriggerName(action)).toBe(trigger)
    expect([text.replaceAll(/not captured \S+ /g, 'not captured … '), ...parameters]).toEqual([
      "select case when position($1 in coalesce(current_setting('basalt.captured', true), '')) = 0 " +
        "then ('not captured … ' || coalesce(current_setting('basalt.captured', true), ''))::int end",
      note,
    ])
  })
})
