import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())

const audits = serverAudits({
  url: () => `${app.url}/api/graphql`,
  fetchFn: async (input: string, init?: RequestInit) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${userToken({ sub: alice })}`)
    return await fetch(input, { ...init, headers })
  },
})

describe('/api/graphql › GraphQL over HTTP', () => {
  test('has audits', () => {
    expect(audits.length).toBeGreaterThan(60)
  })

  test.each(audits)('$id $name', async ({ fn }) => {
    const result = await fn()
    expect(result.status, result.status === 'ok' ? '' : result.reason).toBe('ok')
  })
})
