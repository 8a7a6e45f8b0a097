import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inlineParts, policyOf } from '../../../test/page.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { listErrors } from '../../error-catalog.ts'
import { type ErrorTable, errorKind } from '../../lib/errors.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())

describe('the catalog of errors', () => {
  test('names each kind once, in one spelling, with a status and words for people', () => {
    const errors = listErrors()
    expect(errors.length).toBeGreaterThan(40)
    const kinds = errors.map(({ kind }) => kind)
    expect(kinds.filter((kind, index) => kinds.indexOf(kind) !== index)).toEqual([])
    for (const { kind, status, message, help } of errors) {
      expect(kind).toMatch(/^[a-z]+(_[a-z0-9]+)*$/)
      expect([kind, status >= 400 && status < 600]).toEqual([kind, true])
      expect([kind, message.length > 0, /^[A-Z`].*\.$/s.test(help)]).toEqual([kind, true, true])
    }
  })
})

describe('the catalog of errors is complete', () => {
  test('every table of the code is in it', async () => {
    const source = join(import.meta.dirname, '..', '..')
    const files = globSync('**/*.ts', { cwd: source }).filter(
      (file) =>
        !file.endsWith('.test.ts') && readFileSync(join(source, file), 'utf8').includes('= defineErrors('),
    )
    expect(files.length).toBeGreaterThanOrEqual(5)
    const kinds = new Set(listErrors().map(({ kind }) => kind))
    for (const file of files) {
      const module: Record<string, unknown> = await import(join(source, file))
      const tables = Object.entries(module).filter(([name]) => name.endsWith('ErrorTable'))
      expect([file, tables.length > 0]).toEqual([file, true])
      for (const [, table] of tables) {
        const missing = Object.keys(table as ErrorTable).filter((key) => !kinds.has(errorKind(key)))
        expect([file, missing]).toEqual([file, []])
      }
    }
  })
})

describe('GET /api/docs/errors', () => {
  test('has the anchor that doc_url of each error points at', async () => {
    const { text, status, headers } = await app.request('GET', '/api/docs/errors')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const { kind, status: code } of listErrors()) {
      expect(text.match(new RegExp(` id="${kind}"`, 'g')), kind).toHaveLength(1)
      expect(text).toContain(`<code>${kind}</code></td><td>${code}</td>`)
    }
  })

  test('is where doc_url of a real error leads', async () => {
    const { doc_url: docUrl } = (await app.request('GET', '/api/schema')).json
    const page = await fetch(docUrl)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain(`id="${new URL(docUrl).hash.slice(1)}"`)
  })

  test('needs nothing from elsewhere and runs no script', async () => {
    const response = await app.request('GET', '/api/docs/errors')
    const [style] = inlineParts(response.text, 'style')
    expect(policyOf(response)).toMatchObject({
      'default-src': "'none'",
      'script-src': "'none'",
      'style-src': style?.source,
    })
    expect(response.text).not.toMatch(/<script| (style|on\w+)=|(src|href)="/)
  })

  test('shows names and markup of messages as text', async () => {
    const { text } = await app.request('GET', '/api/docs/errors')
    expect(text).toContain('<code>Authorization: Bearer &#60;token&#62;</code>')
  })
})
