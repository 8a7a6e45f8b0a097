import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const folder = join(import.meta.dirname, '..')

test('dashboard › shows failures with Failure, which includes the slug and the request', () => {
  const byHand = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.tsx') && name !== join('ui', 'states.tsx'))
    .filter((name) => /role="alert">Failed: *\{/.test(readFileSync(join(folder, name), 'utf8')))
  expect(byHand).toEqual([])
})
