import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'

describe('request log line', () => {
  let app: TestApp

  beforeAll(async () => {
    app = await createTestApp({
      setup: notes,
      config: { 'logging.requests': 'all', 'logging.format': 'pretty' },
    })
  })
  afterAll(() => app[Symbol.asyncDispose]())

  /** Returns the messages that are logged during the work; a line follows its response. */
  async function linesOf(work: () => Promise<unknown>, count = 1): Promise<string[]> {
    const before = app.log.length
    await work()
    await expect.poll(() => app.log.length - before).toBe(count)
    return app.log.slice(before).map((line) => JSON.parse(line).msg)
  }

  test('has method, path, status, milliseconds and the user, and neither query nor token', async () => {
    const token = userToken({ sub: alice })
    const path = '/api/collections/note?filter=body=%27s3cret%27'
    const [line] = await linesOf(() => app.request('GET', path, { token }))
    expect(line).toMatch(new RegExp(`^GET /api/collections/note 200 \\d+ ms user ${alice.slice(0, 8)}$`))
  })

  test('names admin and anonymous callers', async () => {
    let token = ''
    const [signIn] = await linesOf(async () => (token = await app.adminToken()))
    expect(signIn).toMatch(/^POST \/api\/admin\/auth 200 \d+ ms anonymous$/)
    const lines = await linesOf(async () => {
      await app.request('GET', '/api/collections/note', { token })
      await app.request('GET', '/api/collections/note')
      await app.request('GET', '/nowhere', { token })
    }, 3)
    expect(lines.map((line) => line.replace(/\d+ ms/, 'n ms'))).toEqual([
      'GET /api/collections/note 200 n ms admin',
      'GET /api/collections/note 401 n ms anonymous',
      'GET /nowhere 404 n ms anonymous',
    ])
  })

  test('truncates a long path', async () => {
    const [long] = await linesOf(() => app.request('GET', `/${'x'.repeat(2000)}`))
    expect(long).toMatch(/^GET \/x{99}… 404 \d+ ms anonymous$/)
  })

  test('has the same fields, with the whole user id, in JSON', async () => {
    await using json = await createTestApp({ setup: notes, config: { 'logging.requests': 'all' } })
    await json.request('GET', '/api/collections/note?perPage=1', { token: userToken({ sub: alice }) })
    await expect
      .poll(() => json.log.map((line) => JSON.parse(line)))
      .toContainEqual(
        expect.objectContaining({
          msg: 'request',
          method: 'GET',
          path: '/api/collections/note',
          operation: 'collections.list',
          status: 200,
          durationMs: expect.any(Number),
          caller: 'user',
          userId: alice,
        }),
      )
  })

  test('is not written in JSON by default, unless the request failed with 500 or more', async () => {
    await using quiet = await createTestApp({ setup: notes })
    await quiet.request('GET', '/api/collections/note')
    expect(quiet.log).toEqual([])
  })
})
