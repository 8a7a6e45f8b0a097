import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDirectory, type ServerProcess, startServer } from './server-process.ts'

/** Settings of both servers: the one on a developer's machine and the public one. */
const common = {
  'auth.limits.registrations_per_hour': '2',
  'auth.limits.anonymous_per_hour': '2',
  'auth.anonymous_auth_enabled': 'true',
  'auth.magic_link_enabled': 'true',
  'logging.level': 'info',
}
const commonPassword = 'password123'
const goodPassword = 'tangerine-harbour-42'

async function post(server: ServerProcess, path: string, body: unknown): Promise<Response> {
  return await fetch(`${server.url}/api/auth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

describe.each([
  { kind: 'in development', config: {}, isDevelopment: true },
  {
    kind: 'that other machines reach',
    config: { 'server.host': '0.0.0.0' },
    isDevelopment: false,
  },
])('development mode › a server $kind', ({ config, isDevelopment }) => {
  const directory = createDirectory(undefined, '.')
  let server: ServerProcess
  beforeAll(async () => {
    server = await startServer({ config: { ...common, 'server.data_dir': directory.path, ...config } })
  })
  afterAll(async () => {
    await server.stop()
    await directory[Symbol.asyncDispose]()
  })
  const messages = () => server.log().map(({ msg }) => String(msg))

  test('reports its mode in one line', () => {
    const lines = messages().filter((message) => message.startsWith('development: '))
    expect(lines).toHaveLength(isDevelopment ? 1 : 0)
  })

  test('accepts or rejects a common password', async () => {
    const email = 'common@example.com'
    const response = await post(server, 'register', { email, password: commonPassword })
    expect(response.status).toBe(isDevelopment ? 201 : 400)
    const warnings = server.log().filter(({ msg }) => String(msg).includes('accepted a common password'))
    expect(warnings.map(({ level }) => level)).toEqual(isDevelopment ? ['warn'] : [])
    expect(server.output()).not.toContain(commonPassword)
  })

  test('allows a hundred times the requests per address, except for anonymous sign-ins', async () => {
    const statuses: number[] = []
    for (let index = 0; index < 5; index += 1) {
      const email = `user${index}@example.com`
      statuses.push((await post(server, 'register', { email, password: goodPassword })).status)
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(isDevelopment ? 5 : 2)
    const anonymous = [1, 2, 3].map(async () => (await post(server, 'anonymous', {})).status)
    expect((await Promise.all(anonymous)).sort()).toEqual([201, 201, 429])
  })

  test('writes mailed links to the log or keeps them out of it', async () => {
    const to = 'link@example.com'
    expect((await post(server, 'magic-link', { email: to })).status).toBe(200)
    const logged = () => server.log().filter((line) => line.to === to)
    await expect.poll(() => logged().length).toBe(1)
    expect(server.output().includes('/auth/magic-link?token=')).toBe(isDevelopment)
  })
})
