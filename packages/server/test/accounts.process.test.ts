import { describe, expect, test } from 'vitest'
import { newEmail } from './accounts.ts'
import { ask } from './ask.ts'
import { openReceiver, type Received } from './mail-receiver.ts'
import {
  createDirectory,
  failToStart,
  isRoot,
  type ProcessOptions,
  runCommand,
  startServer,
  unprivileged,
} from './server-process.ts'
import { createTestDatabase } from './test-app.ts'
import { waitFor } from './wait-for.ts'

const password = 'tangerine-harbour-42'
const account = isRoot ? unprivileged : undefined

describe('a server that is killed', () => {
  test('between an answer and its mail sends the mail after the next start, and every session stays', async () => {
    await using receiver = await openReceiver({ hangs: true })
    await using directory = createDirectory(account, 'data')
    const options: ProcessOptions = {
      account,
      config: {
        'server.data_dir': `${directory.path}/data`,
        'auth.magic_link_enabled': 'true',
        'auth.site_url': 'https://app.example.com',
        'email.backend': 'webhook',
        'email.webhook.url': receiver.url,
        'email.webhook.timeout': '120',
      },
    }
    const [hanging, waiting] = [newEmail(), newEmail()]
    const arrived = (to: string) => receiver.received.filter((each) => each.to === to)

    const server = await startServer(options)
    const post = (url: string, path: string, body: unknown) =>
      ask('POST', `${url}/api/auth/${path}`, { body })
    const registered = await post(server.url, 'register', { email: hanging, password })
    expect(registered.status).toBe(201)
    await waitFor('the mail to be in flight', () => arrived(hanging).length === 1)
    // The next one is killed with the server as soon as it is acknowledged.
    expect((await post(server.url, 'magic-link', { email: waiting })).status).toBe(200)
    server.signal('SIGKILL')
    await server.ended
    // Half a minute passes, after which the lease of an abandoned job has run out.
    const pass =
      "update basalt.jobs set leased_until = leased_until - interval '1 minute' where state = 'running'"
    expect(await runCommand(['sql', pass], options)).toMatchObject({ code: 0 })

    receiver.behave({})
    await using next = await startServer(options)
    const refreshed = await post(next.url, 'refresh', { refreshToken: registered.json.refreshToken })
    expect(refreshed.status).toBe(200)
    for (const token of [registered.json.token, refreshed.json.token]) {
      expect((await ask('GET', `${next.url}/api/auth/me`, { token })).json.email).toBe(hanging)
    }

    // The mail that was in flight comes again when its lease has run out: the same mail under the same id.
    await waitFor('the mails', () => arrived(hanging).length === 2 && arrived(waiting).length > 0, 90_000)
    const [first, second] = arrived(hanging)
    expect(second).toEqual(first)
    const secret = (mail: Received | undefined) => /token=(\w+)/.exec(mail?.text ?? '')?.[1]
    expect((await post(next.url, 'verify', { token: secret(second) })).status).toBe(200)
    const link = { token: secret(arrived(waiting).at(-1)) }
    expect((await post(next.url, 'magic-link/confirm', link)).status).toBe(200)
    expect((await post(next.url, 'magic-link/confirm', link)).status).toBe(400)

    const open = "select type from basalt.jobs where type like 'accounts.%' and state <> 'completed'"
    await waitFor('the jobs to be done', async () => {
      const { stdout } = await runCommand(['sql', '--json', open], options)
      return stdout.trim() === '[]'
    })
    expect(arrived(hanging)).toHaveLength(2)
  })
})

describe('a start is refused', () => {
  test.each([
    [
      'without a secret beside an external database',
      '',
      'required with database.url: at least 32 random characters',
    ],
    ['with a short secret', 'only thirty-one characters long', 'the value is not at least 32 characters'],
  ])('%s', async (_name, secret, problem) => {
    await using database = await createTestDatabase()
    const config = { 'database.url': database.url, 'auth.jwt_secret': secret }
    const { code, stdout, stderr } = await failToStart({ config })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^basalt: .*auth\.jwt_secret .*\n$/)
    expect(stderr).toContain(problem)
    if (secret !== '') expect(stderr).not.toContain(secret)
  })
})
