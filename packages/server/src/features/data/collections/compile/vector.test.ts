import { describe, expect, test } from 'vitest'
import { render } from '../../../../database/sql.ts'
import { compileVectorSettings } from './vector.ts'

type Plan = Parameters<typeof compileVectorSettings>[0]

function settings(iterates: boolean, limit: number): string | undefined {
  // No other member is read.
  const compiled = compileVectorSettings({ iterates } as Plan, limit)
  return compiled === undefined ? undefined : render(compiled).text.replaceAll(/\s+/g, ' ')
}

const iterative =
  "select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('ivfflat.iterative_scan', 'relaxed_order', true)"

describe('settings of an index scan', () => {
  test('are made only where pgvector knows them', () => {
    expect(settings(false, 20)).toBeUndefined()
    expect(settings(false, 500)).toBeUndefined()
    expect(settings(true, 20)).toBe(iterative)
  })

  test('give a large page as many candidates, and never fewer than the operator', () => {
    expect(settings(true, 500)).toBe(
      `${iterative}, set_config('hnsw.ef_search', greatest(nullif(current_setting('hnsw.ef_search', true), '')::int, 500)::text, true)`,
    )
  })
})
