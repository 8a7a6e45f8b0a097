import { describe, expect, test } from 'vitest'
import { render, sql } from '../../../../database/sql.ts'
import { compileNearestRows, compileVectorSettings } from './vector.ts'

type Plan = Parameters<typeof compileVectorSettings>[0]

function settings(iterates: boolean, limit: number): string | undefined {
  // No other member is read.
  const compiled = compileVectorSettings({ iterates } as Plan, limit)
  return compiled === undefined ? undefined : render(compiled).text.replaceAll(/\s+/g, ' ')
}

const iterative =
  "select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('ivfflat.iterative_scan', 'relaxed_order', true)"

describe('compileVectorSettings', () => {
  test('sets an index scan only where pgvector knows the settings', () => {
    expect(settings(false, 20)).toBeUndefined()
    expect(settings(false, 500)).toBeUndefined()
    expect(settings(true, 20)).toBe(iterative)
  })

  test('gives a large page as many candidates, and never fewer than the operator', () => {
    expect(settings(true, 500)).toBe(
      `${iterative}, set_config('hnsw.ef_search', greatest(nullif(current_setting('hnsw.ef_search', true), '')::int, 500)::text, true)`,
    )
  })
})

test('compileNearestRows › reads and sorts rows beyond an index only if the index has found too few', () => {
  // No other member is read.
  const plan = { column: { name: 'v', vectorSchema: 'public', type: {} }, metric: 'l2', isApproximate: true }
  const expressions = compileNearestRows(plan as Parameters<typeof compileNearestRows>[0], {
    ...{ name: 'nearest', alias: 't', limit: 20, distance: '_distance', columns: [sql.id('t', 'id')] },
    from: (alias, further) => sql`from note ${sql.id(alias)} where ${sql.join(further, sql` and `)}`,
  })
  const texts = expressions.map((each) => render(each).text.replaceAll(/\s+/g, ' '))
  expect(texts.map((text) => text.includes('count(*)'))).toEqual([false, false, true])
  expect(texts[2]).toMatch(/select \* from exact where not \(\(select count\(\*\) from approximate\) = 20\)/)
})
