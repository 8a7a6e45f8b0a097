import { describe, expect, test } from 'vitest'
import { newEmail } from './accounts.ts'
import { openReceiver, type Received } from './mail-receiver.ts'
import { sendRequest } from './send-request.ts'
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

describe('accounts after a crash', () => {
  test('sends the mail of an acknowledged request after the restart and keeps every session', async () => {
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
      sendRequest('POST', `${url}/api/auth/${path}`, { body })
    const registered = await post(server.url, 'register', { email: hanging, password })
    expect(registered.status).toBe(201)
    await waitFor('the mail to be in flight', () => arrived(hanging).length === 1)
    // The server is killed as soon as it has acknowledged the next mail.
    expect((await post(server.url, 'magic-link', { email: waiting })).status).toBe(200)
    server.signal('SIGKILL')
    await server.ended
    // Half a minute passes; then the lease of an abandoned job has expired.
    const pass =
      "update basalt.jobs set leased_until = leased_until - interval '1 minute' where state = 'running'"
    expect(await runCommand(['sql', pass], options)).toMatchObject({ code: 0 })

    receiver.behave({})
    await using next = await startServer(options)
    const refreshed = await post(next.url, 'refresh', { refreshToken: registered.json.refreshToken })
    expect(refreshed.status).toBe(200)
    for (const token of [registered.json.token, refreshed.json.token]) {
      expect((await sendRequest('GET', `${next.url}/api/auth/me`, { token })).json.email).toBe(hanging)
    }

    // The mail in flight is sent again when its lease has expired: the same mail with the same id.
    await waitFor('the mails', () => arrived(hanging).length === 2 && arrived(waiting).length > 0)
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

describe('accounts › startup is refused', () => {
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
