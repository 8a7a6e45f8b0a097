import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import {
  anyText,
  choices,
  conditionsOf,
  mutated,
  printTree,
  type Tree,
  treeOf,
} from '../../../../../test/filter-grammar.ts'
import {
  evaluate,
  negate,
  oracleColumns,
  oracleCondition,
  oracleRows,
  oracleTable,
  oracleTypes,
} from '../../../../../test/filter-oracle.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { arrayLiteral } from '../../../../database/array-literal.ts'
import { render } from '../../../../database/sql.ts'
import { compileFilter } from '../compile/filter.ts'
import { parseFilter } from '../parse/filter.ts'
import { planFilter } from '../plan/filter.ts'

/** Matches of a filter, compared with the result of SQL's three truth values. */

const rows = oracleRows(150, [alice, bob, null])
const rowsOfAlice = rows.filter(({ owner }) => owner === alice)
const token = userToken({ sub: alice })

let app: TestApp
let admin: string

beforeAll(async () => {
  app = await createTestApp({ setup: oracleTypes + oracleTable('oracle', rows) })
  admin = await app.adminToken()
})
afterAll(async () => {
  // No request caused a fault of the server.
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

/** Maximum length of a URL in these tests; longer requests are tested elsewhere. */
const urlLimit = 14_000

const tree = treeOf(oracleCondition)

function list(filter: string, as: string) {
  return app.request(
    'GET',
    `/api/collections/oracle?fields=id&perPage=500&filter=${encodeURIComponent(filter)}`,
    { token: as },
  )
}

/** Returns the ids of the matching records; the total must be their number. */
async function find(filter: string, as: string): Promise<number[]> {
  fc.pre(encodeURIComponent(filter).length < urlLimit)
  const response = await list(filter, as)
  expect(response.status, `${filter}\n${response.text}`).toBe(200)
  const ids = response.json.items.map(({ id }: { id: number }) => id)
  expect(response.json).toEqual({
    page: 1,
    perPage: 500,
    totalItems: ids.length,
    totalPages: ids.length === 0 ? 0 : 1,
    items: ids.map((id: number) => ({ id })),
  })
  return ids
}

function idsWhere(value: Tree, among: typeof rows): number[] {
  return among.filter((row) => evaluate(value, row) === true).map(({ id }) => id)
}

describe('filter', () => {
  test('finds the visible rows for which SQL says true', async () => {
    await fc.assert(
      fc.asyncProperty(tree, choices, async (value, decisions) => {
        const filter = printTree(value, decisions)
        expect(await find(filter, admin)).toEqual(idsWhere(value, rows))
        expect(await find(filter, token)).toEqual(idsWhere(value, rowsOfAlice))
      }),
      { numRuns: 400 },
    )
  })

  test('and its negation partition the rows that are not unknown', async () => {
    await fc.assert(
      fc.asyncProperty(tree, choices, async (value, decisions) => {
        const found = await find(printTree(value, decisions), admin)
        const rest = await find(printTree(negate(value), decisions), admin)
        expect(await find(printTree({ kind: 'not', term: value }, decisions), admin)).toEqual(rest)
        const unknown = rows.filter((row) => evaluate(value, row) === undefined).map(({ id }) => id)
        const parts = [...found, ...rest, ...unknown].sort((one, other) => one - other)
        expect(parts).toEqual(rows.map(({ id }) => id))
        // Only a NULL makes a row unknown: its own, or one in a list.
        const conditions = conditionsOf(value)
        if (conditions.some((each) => each.kind === 'in' && each.values.includes(null))) return
        const columns = conditions.map(({ column }) => column)
        for (const row of rows.filter(({ id }) => unknown.includes(id))) {
          expect(columns.some((column) => row.values.get(column) === null)).toBe(true)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('compares each value of each column by each operator', async () => {
    for (const { name, classes, operators } of oracleColumns) {
      for (const operator of operators.filter((each) => !each.includes('~'))) {
        const trees = classes.map((spellings): Tree => {
          const value = spellings.at(-1) ?? ''
          return { kind: 'compare', column: name, operator, value }
        })
        const found = await Promise.all(trees.map((each) => find(printTree(each), admin)))
        expect(found, `${name} ${operator}`).toEqual(trees.map((each) => idsWhere(each, rows)))
      }
    }
  })
})

describe('filter statements', () => {
  /** Parts that a statement may have beside parameters: column identifiers, operators, types to cast to. */
  const allowed = [
    ...oracleColumns.map(({ name }) => `"t"."${name.replaceAll('"', '""')}"`),
    ...['::pair', '::regtype', ' and ', ' or ', ' is not distinct from null', ' is distinct from null'],
    ...[
      ' is not null',
      ' is null',
      ' = any ',
      ' <> ',
      ' >= ',
      ' <= ',
      ' not like ',
      ' like ',
      ' not ilike ',
      ' ilike ',
      'not ',
      ' > ',
      ' < ',
      ' = ',
    ],
    ...['(', ')'],
  ]

  test('have no value in their text, and a parameter for each', () => {
    const catalog = app.app.catalog.current
    const context = { catalog, reader: 'caller', language: 'pg_catalog.english' } as const
    const relation = catalog.relations.get('oracle')
    if (relation === undefined) throw new Error('no table')
    fc.assert(
      fc.property(tree, choices, (value, decisions) => {
        const filter = parseFilter(printTree(value, decisions))
        const { text, values } = render(compileFilter(planFilter(context, relation, filter), 't'))
        const [skeleton, ...numbers] = takeApart(text)
        expect(skeleton).toBe('')
        expect(numbers).toEqual(values.map((_, index) => `$${index + 1}`))
        expect(values).toEqual(conditionsOf(value).flatMap(parametersOf))
      }),
      { numRuns: 1000 },
    )
  })

  /** Returns the rest of the text without the allowed parts, then its placeholders. */
  function takeApart(text: string): string[] {
    const numbers = text.match(/\$\d+/g) ?? []
    const skeleton = allowed.reduce((rest, part) => rest.replaceAll(part, ''), text.replace(/\$\d+/g, ''))
    return [skeleton, ...numbers]
  }

  /**
   * Returns the parameters of a condition. A list is one parameter, except where an array of the type would be
   * another type.
   */
  function parametersOf(condition: ReturnType<typeof conditionsOf>[number]): unknown[] {
    if (condition.kind === 'compare') return condition.value === null ? [] : [condition.value]
    if (condition.kind === 'between') return [condition.low, condition.high]
    return ['tags', 'pair', 'kind'].includes(condition.column)
      ? [...condition.values]
      : [arrayLiteral(condition.values)]
  }
})

describe('filter with arbitrary text', () => {
  const refusals = ['invalid_filter', 'unknown_filter_column', 'invalid_value']

  const anyOperator = [
    ...['=', '!=', '>', '<=', '~', '!~', '~*', 'CONTAINS', 'OVERLAPS', 'ADJACENT', 'MATCHES', 'NOT CONTAINS'],
    ...["->'a' =", "->>'a' >", '->0->>1 =', "->'a' >", "->'a' CONTAINS", "->>'b' MATCHES"],
  ]

  async function expectAnswerOrRefusal(filter: string): Promise<void> {
    fc.pre(encodeURIComponent(filter.toWellFormed()).length < urlLimit)
    const { status, json } = await list(filter.toWellFormed(), token)
    if (status === 200) return
    expect([status, json.code]).toEqual([400, 400])
    expect(refusals).toContain(json.error)
    if (json.error === 'invalid_value') return
    expect(json.data.position).toBeGreaterThanOrEqual(0)
    expect(json.data.position).toBeLessThanOrEqual(filter.length)
    expect(json.message).toMatch(/^invalid filter: ./)
  }

  test('is evaluated or rejected: any text', async () => {
    await fc.assert(fc.asyncProperty(anyText, expectAnswerOrRefusal), { numRuns: 500 })
  })

  test('is evaluated or rejected: a mutated filter', async () => {
    const spelled = fc.tuple(tree, choices).map(([value, decisions]) => printTree(value, decisions))
    await fc.assert(fc.asyncProperty(mutated(spelled), expectAnswerOrRefusal), { numRuns: 500 })
  })

  test('is evaluated or rejected: any value for any column', async () => {
    const condition = fc.record({
      column: fc.constantFrom(...oracleColumns.map(({ name }) => name)),
      operator: fc.constantFrom(...anyOperator),
      value: fc.oneof(
        fc.constantFrom(
          '',
          '0',
          '-1',
          '1.5',
          'true',
          'NaN',
          '1e400',
          '1e-400',
          '1e200000',
          '{',
          '{1',
          '{{1},{2}}',
        ),
        fc.constantFrom(
          '[1,2',
          '(1',
          '(1,2,3)',
          '"\\u0000"',
          '2026-02-30',
          '24:00:00',
          '\\',
          'infinity',
          '\0',
        ),
        fc.string({ maxLength: 20 }),
      ),
    })
    const filter = condition.map(({ column, operator, value }) => {
      const quoted = `'${value.replace(/[\\']/g, '\\$&')}'`
      return `"${column.replaceAll('"', '""')}" ${operator} ${quoted}`
    })
    await fc.assert(fc.asyncProperty(filter, expectAnswerOrRefusal), { numRuns: 500 })
  })

  test.each([
    ['10,000 groups that open', '('.repeat(10_000), 400],
    ['50 levels', `${'('.repeat(50)}i=1${')'.repeat(50)}`, 200],
    ['51 levels', `${'('.repeat(51)}i=1${')'.repeat(51)}`, 400],
    ['3,300 values', `i IN (${Array(3300).fill('1').join()})`, 200],
    ['a list of 1,600 texts', `s IN (${Array(1600).fill("'a'").join()})`, 200],
    ['a list of 1,000 arrays', `tags IN (${Array(1000).fill("'{}'").join()})`, 200],
    ['1,600 conditions', Array(1600).fill('i=1').join('||'), 200],
    ['10,001 bytes', `s='${'x'.repeat(9997)}'`, 400],
  ])('may be long: %s', async (_what, filter, status) => {
    const path = `/api/collections/oracle?fields=id&perPage=500&filter=${filter.replaceAll('|', '%7C')}`
    const response = await app.request('GET', path, { token })
    expect(response.status, response.text.slice(0, 200)).toBe(status)
  })
})
