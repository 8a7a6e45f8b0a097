import { describe, expect, test } from 'vitest'
import type { CallerScope } from '../caller/caller-scope.ts'
import type { Step } from '../caller/caller-steps.ts'
import { StatementFailed, statement } from '../connection/message.ts'
import { databaseError, textOf } from '../tests/recording.ts'
import { PlanCache } from './plan-cache.ts'

const alice: CallerScope = {
  kind: 'caller',
  userId: 'a11ce',
  email: '',
  isEmailVerified: true,
  aal: 'aal1',
  isAnonymous: false,
  sessionId: '',
}
const anonymous: CallerScope = { kind: 'anonymous' }
const unrestricted: CallerScope = { kind: 'unrestricted' }

/** Relation `note`, whose policies decide which rows a caller sees. */
const note = { oid: '16385', isRestricted: true }
const list: Step = { statement: statement('select body from note', '', [note]), values: [] }
const filter: Step = {
  statement: statement('select body from note where kind = $1', '', [note]),
  values: ['memo'],
}

/** Creates a cache that knows the class of a caller: size, expected rows and plan of the relation. */
function knowing(scope: CallerScope, found: string): PlanCache {
  const cache = new PlanCache()
  const [size = ''] = found.split('.')
  cache.learnFrom(scope, new StatementFailed(databaseError('BS006', { table: note.oid, detail: size }), 0))
  cache.learn(scope, cache.plan(scope, [list], true), [{ rows: [[found]], count: 1 }])
  return cache
}

function textsOf(steps: readonly Step[]) {
  return steps.map(textOf)
}

describe('plan cache', () => {
  test('leaves a statement on a small relation as it is', () => {
    const { steps } = new PlanCache().plan(alice, [list], true)
    expect(textsOf(steps)).toEqual([['select body from note']])
  })

  test('checks the size of each relation in the context', () => {
    const other = { oid: '16390', isRestricted: true }
    const both: Step = { statement: statement('select from note, tag', '', [note, other]), values: [] }
    expect(new PlanCache().plan(alice, [list, both], true).check).toEqual({
      relations: ['16385', '16390'],
      sizes: ['0', '0'],
    })
  })

  test('guards a statement by the class of the caller', () => {
    const { steps, classQueries } = knowing(alice, '12.0.5a17').plan(alice, [list], true)
    expect(textsOf(steps)).toEqual([
      ["select * from (select body from note) kept where basalt.planned_for(16385, '12.0.5a17')"],
    ])
    expect(classQueries).toEqual([])
  })

  test('evaluates the guard only in a plan for any value of a parameter', () => {
    const { steps } = knowing(alice, '12.0.5a17').plan(alice, [filter], true)
    expect(textsOf(steps)).toEqual([
      [
        'select * from (select body from note where kind = $1) kept where ' +
          "case when $1 is not null then true else basalt.planned_for(16385, '12.0.5a17') end",
        'memo',
      ],
    ])
  })

  test('guards no statement of an administrator, who sees all rows', () => {
    const { steps } = knowing(unrestricted, '12.0.5a17').plan(unrestricted, [list], true)
    expect(textsOf(steps)).toEqual([['select body from note']])
  })

  test('queries an unknown class, and tries the plan for few rows meanwhile', () => {
    const cache = knowing(alice, '12.0.5a17')
    const { steps, classQueries } = cache.plan({ ...alice, userId: 'b0b' }, [list], true)
    expect(textsOf(steps)).toEqual([
      ["select * from (select body from note) kept where basalt.planned_for(16385, '12.0.5a17')"],
    ])
    expect(classQueries.map(({ call }) => textOf(call))).toEqual([['select basalt.plan_class($1)', '16385']])
  })

  test('has a statement of its own for each class and each role', () => {
    const nameOf = (cache: PlanCache, scope: CallerScope) =>
      cache.plan(scope, [list], true).steps[0]?.statement.name
    const names = [
      nameOf(new PlanCache(), alice),
      nameOf(new PlanCache(), anonymous),
      nameOf(knowing(alice, '12.0.5a17'), alice),
      nameOf(knowing(alice, '12.9.77fe'), alice),
    ]
    expect(new Set(names).size).toBe(names.length)
  })

  test('uses the alternative of a step for a caller with few rows', () => {
    const forFew = {
      rows: 1000,
      call: () => ({ statement: statement('select body from note limit 10', '', [note]), values: [] }),
    }
    const few = knowing(alice, '12.0.5a17').plan(alice, [{ ...list, forFew }], true)
    const many = knowing(alice, '12.9.77fe').plan(alice, [{ ...list, forFew }], true)
    expect(textsOf(few.steps)).toEqual([
      ["select * from (select body from note limit 10) kept where basalt.planned_for(16385, '12.0.5a17')"],
    ])
    expect(textsOf(many.steps)).toEqual([
      ["select * from (select body from note) kept where basalt.planned_for(16385, '12.9.77fe')"],
    ])
  })

  test('prepares no statement in a transaction that cannot be repeated', () => {
    const steps = knowing(alice, '12.0.5a17').planAnew(alice, [list])
    expect(steps.map(({ statement: { name, text } }) => [name, text])).toEqual([
      ['', 'select body from note'],
    ])
  })
})
