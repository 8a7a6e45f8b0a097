import { isDeepStrictEqual } from 'node:util'
import type { PolicyCase } from '../../features/data/policies/index.ts'
import { isObject } from '../../lib/json.ts'

export interface CaseAnswer {
  readonly status: number
  readonly body: unknown
}

/** Statuses of a denied request. Which of them hides an object best does not matter here. */
const refusals = new Set([401, 403, 404])

/** Compares a response with the expectation. Returns the differences; undefined when it matches. Pure. */
export function judge(
  expected: Pick<PolicyCase, 'rows' | 'count' | 'row' | 'result' | 'refused' | 'status'>,
  { status, body }: CaseAnswer,
): { readonly expected: string; readonly actual: string } | undefined {
  const shown = (what: string) => ({ expected: what, actual: `${status} ${brief(body)}` })
  if (expected.status !== undefined && status !== expected.status) return shown(`status ${expected.status}`)
  if (expected.refused === true) return refusals.has(status) ? undefined : shown('refused')
  if (expected.status === undefined && status >= 300) return shown('success')
  const items = itemsOf(body)
  if (expected.count !== undefined && items?.length !== expected.count) return shown(`${expected.count} rows`)
  if (expected.rows !== undefined) {
    const { missing, extra } = compareRows(expected.rows, items ?? [])
    if (missing.length + extra.length > 0) {
      return {
        expected: `rows ${brief(expected.rows)}`,
        actual: `missing ${brief(missing)}, unexpected ${brief(extra)}`,
      }
    }
  }
  if (expected.row !== undefined && !covers(body, expected.row)) return shown(`row ${brief(expected.row)}`)
  if ('result' in expected && !covers(body, expected.result)) return shown(`result ${brief(expected.result)}`)
  return undefined
}

function itemsOf(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body
  if (typeof body !== 'object' || body === null || !('items' in body)) return undefined
  return Array.isArray(body.items) ? body.items : undefined
}

/**
 * Finds an actual row for each expected one, which contains its fields. Unpaired rows on either side are
 * differences.
 */
function compareRows(expected: readonly unknown[], actual: readonly unknown[]) {
  const extra = [...actual]
  const missing = expected.filter((row) => {
    const index = extra.findIndex((candidate) => covers(candidate, row))
    if (index !== -1) extra.splice(index, 1)
    return index === -1
  })
  return { missing, extra }
}

/** Returns true if a value equals the expected one. Objects are compared in the expected fields. */
function covers(actual: unknown, expected: unknown): boolean {
  if (!isObject(expected)) return isDeepStrictEqual(actual, expected)
  if (typeof actual !== 'object' || actual === null) return false
  const fields = new Map(Object.entries(actual))
  return Object.entries(expected).every(
    ([name, value]) => fields.has(name) && covers(fields.get(name), value),
  )
}

function brief(value: unknown): string {
  const line = JSON.stringify(value) ?? 'nothing'
  return line.length > 400 ? `${line.slice(0, 400)}…` : line
}
