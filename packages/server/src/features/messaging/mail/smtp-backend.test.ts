import { createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { certificate } from '../../../../test/certificate.ts'
import {
  type MailServer,
  type MailServerOptions,
  openMailServer,
  Refusal,
} from '../../../../test/mail-server.ts'
import { testConfig } from '../../../../test/test-config.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import type { MailBackend, MailMessage } from './backend.ts'
import type { EmailConfig } from './config.ts'
import { createMailBackend } from './create-backend.ts'
import { MailRefused } from './refusal.ts'
import { createSmtpBackend, type SmtpLimits } from './smtp-backend.ts'

const clock = { now: () => new Date('2026-02-03T04:05:06Z') }
const message: MailMessage = {
  to: 'alice@example.com',
  subject: 'Hello',
  html: '<p>Hello, Alice</p>',
  text: 'Hello, Alice',
}

let cleanUp: AsyncDisposableStack
beforeEach(() => {
  cleanUp = new AsyncDisposableStack()
})
afterEach(() => cleanUp.disposeAsync())

function emailConfig(port: number, overrides: Record<string, string> = {}): EmailConfig {
  return testConfig({
    'email.backend': 'smtp',
    'email.from': 'Shop <shop@example.com>',
    'email.smtp.host': '127.0.0.1',
    'email.smtp.port': String(port),
    'email.smtp.security': 'none',
    ...overrides,
  }).email
}

/** Creates a backend for this port, as the server would. */
function backendFor(port: number, overrides: Record<string, string> = {}): MailBackend {
  const config = emailConfig(port, overrides)
  const backend = createMailBackend({ config, isDevelopment: false, log: pino({ level: 'silent' }), clock })
  cleanUp.defer(() => backend.close())
  return backend
}

/** Creates the same backend with shorter time limits. */
function hastyBackendFor(
  port: number,
  limits: SmtpLimits,
  overrides: Record<string, string> = {},
): MailBackend {
  const { from, smtp } = emailConfig(port, overrides)
  const backend = createSmtpBackend({ from, smtp, clock, limits })
  cleanUp.defer(() => backend.close())
  return backend
}

async function open(options: MailServerOptions = {}): Promise<MailServer> {
  return cleanUp.use(await openMailServer(options))
}

const credentials = { 'email.smtp.username': 'shop', 'email.smtp.password': 'sécret' }

/** Returns the error of a send. */
async function failureOf(sending: Promise<void>): Promise<unknown> {
  return await sending.then(
    () => 'sent',
    (error: unknown) => error,
  )
}

async function expectTemporary(sending: Promise<void>, reason: RegExp): Promise<void> {
  const failure = await failureOf(sending)
  expect(failure).toBeInstanceOf(Error)
  expect(failure).not.toBeInstanceOf(MailRefused)
  expect((failure as Error).message).toMatch(reason)
}

async function expectRefused(sending: Promise<void>, reason: RegExp): Promise<void> {
  const failure = await failureOf(sending)
  expect(failure).toBeInstanceOf(MailRefused)
  expect((failure as Error).message).toMatch(reason)
}

describe('SMTP backend › a mail', () => {
  test('arrives unchanged', async () => {
    const server = await open()
    const backend = backendFor(server.port, { 'email.from': 'Müller, Söhne <büro@müller.example>' })
    await backend.send(
      {
        to: 'alice@example.com',
        subject: 'Größe: 10 € für „Alice“ 🎉',
        html: '<p>Schöne Grüße</p>',
        text: 'Schöne Grüße',
      },
      { id: '7c1f3a52-0000-4000-8000-000000000001' },
    )
    expect(server.mails).toHaveLength(1)
    const [mail] = server.mails
    expect(mail).toMatchObject({
      from: 'büro@müller.example',
      to: ['alice@example.com'],
      isInternational: true,
    })
    expect(mail?.content).toMatchObject({
      from: { name: 'Müller, Söhne', address: 'büro@müller.example' },
      to: [{ name: '', address: 'alice@example.com' }],
      subject: 'Größe: 10 € für „Alice“ 🎉',
      text: 'Schöne Grüße\n',
      html: '<p>Schöne Grüße</p>\n',
      date: '2026-02-03T04:05:06.000Z',
      messageId: '<7c1f3a52-0000-4000-8000-000000000001@xn--mller-kva.example>',
    })
    expect(mail?.content.headers.map(({ key }) => key).sort()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ])
    expect(mail?.content.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
  })

  test('has another sender and another address of replies on request', async () => {
    const server = await open()
    const addresses = { from: 'Orders <orders@example.com>', replyTo: 'support@in.example.com' }
    await backendFor(server.port).send({ ...message, ...addresses }, { id: 'a1' })
    const [received] = server.mails
    expect(received?.from).toBe('orders@example.com')
    expect(received?.raw).toContain('From: Orders <orders@example.com>')
    expect(received?.raw).toContain('Reply-To: support@in.example.com')
    expect(received?.raw).toContain('Message-ID: <a1@example.com>')
  })

  test('has its text before its HTML, so that readers prefer the HTML', async () => {
    const server = await open()
    await backendFor(server.port).send(message)
    const raw = server.mails[0]?.raw ?? ''
    expect(raw).toContain('multipart/alternative')
    expect([...raw.matchAll(/^Content-Type: text\/(\w+)/gm)].map(([, type]) => type)).toEqual([
      'plain',
      'html',
    ])
  })

  test('is recognizable when it is sent again', async () => {
    const server = await open()
    const backend = backendFor(server.port)
    for (const id of ['job-1', 'job-1', 'job-2', 'with blanks <and> @', undefined, undefined]) {
      await backend.send(message, id === undefined ? {} : { id })
    }
    const ids = server.mails.map(({ content }) => content.messageId)
    expect(ids.slice(0, 3)).toEqual(['<job-1@example.com>', '<job-1@example.com>', '<job-2@example.com>'])
    expect(ids[3]).toMatch(/^<[0-9a-f]{64}@example\.com>$/)
    expect(new Set(ids).size).toBe(5)
  })

  test('reaches exactly its mailbox', async () => {
    const server = await open()
    const backend = backendFor(server.port)
    const expected = [
      [`o'x"\\;--@example.com`, `"o'x\\"\\\\;--"@example.com`, false],
      ['"a.b"@example.com', '"a.b"@example.com', false],
      ['(a):[b];c@example.com', '"(a):[b];c"@example.com', false],
      // It is ASCII in transit, as the flag shows. The server displays it decoded.
      ['alice@bücher.example', 'alice@bücher.example', false],
      ['jürgen@bücher.example', 'jürgen@bücher.example', true],
      ['jürgen@xn--bcher-kva.example', 'jürgen@bücher.example', true],
      ['用户@example.com', '用户@example.com', true],
    ] as const
    for (const [to] of expected) await backend.send({ ...message, to })
    expect(server.mails.map((mail) => [mail.to, mail.isInternational])).toEqual(
      expected.map(([, mailbox, isInternational]) => [[mailbox], isInternational]),
    )
    expect(server.mails.map(({ content }) => content.to?.length)).toEqual(expected.map(() => 1))
  })

  test('to an invalid address is rejected without a request to the server', async () => {
    const server = await open()
    const backend = backendFor(server.port)
    const strange = [
      'alice@example.com, bob@example.com',
      'alice@example.com\r\nBcc: bob@example.com',
      'alice@example.com>\r\nRCPT TO:<bob@example.com',
      'Alice <alice@example.com>',
      'alice@localhost',
      '',
    ]
    for (const to of strange) await expectRefused(backend.send({ ...message, to }), /not an email address/)
    expect(server.connections.opened).toBe(0)
  })

  test('has exactly the content of its parts', async () => {
    const server = await open()
    const backend = backendFor(server.port)
    const hostile = fc.constantFrom(
      ...[
        '\r\n',
        '\n',
        '\r',
        '.',
        '\r\n.\r\n',
        '\n.\n',
        '\r.\r',
        'Bcc: bob@example.com',
        'MAIL FROM:<x@y.example>',
      ],
      ...['QUIT', '--', '=?utf-8?Q?=0A?=', '\0', '\u2028', 'ä', '😀', ' ', '\t', 'x'.repeat(1100)],
    )
    const text = fc.array(hostile, { maxLength: 12 }).map((pieces) => pieces.join(''))
    await fc.assert(
      fc.asyncProperty(text, text, text, async (subject, body, html) => {
        const before = server.mails.length
        await backend.send({
          to: 'alice@example.com',
          subject: `s${subject}`,
          text: `t${body}`,
          html: `h${html}`,
        })
        expect(server.mails).toHaveLength(before + 1)
        const mail = server.mails.at(-1)
        expect(mail?.to).toEqual(['alice@example.com'])
        expect(mail?.content).toMatchObject({ to: [{ name: '', address: 'alice@example.com' }] })
        expect(mail?.content.headers.map(({ key }) => key)).not.toContain('bcc')
        const lines = (text = '') => text.replace(/\r\n?/g, '\n').trimEnd()
        expect(lines(mail?.content.text)).toBe(lines(`t${body}`))
        expect(lines(mail?.content.html)).toBe(lines(`h${html}`))
      }),
      { numRuns: 60 },
    )
  })
})

describe('SMTP backend › encryption', () => {
  const securities: [string, MailServerOptions][] = [
    ['starttls', {}],
    ['tls', { secure: true }],
  ]

  test.each(securities)('is used with %s', async (security, options) => {
    const server = await open(options)
    const { from, smtp } = emailConfig(server.port, { 'email.smtp.security': security })
    const backend = createSmtpBackend({ from, smtp, clock, trust: certificate })
    cleanUp.defer(() => backend.close())
    await backend.send(message)
    expect(server.mails.map(({ isEncrypted }) => isEncrypted)).toEqual([true])
  })

  test.each(securities)(
    'with %s rejects a certificate that no trusted authority signed',
    async (security, options) => {
      const server = await open(options)
      const backend = backendFor(server.port, { ...credentials, 'email.smtp.security': security })
      await expectTemporary(backend.send(message), /self-signed certificate/)
      expect(server.mails).toEqual([])
    },
  )

  test('with starttls rejects a server that does not offer it', async () => {
    const server = await open({ hideSTARTTLS: true, disabledCommands: ['STARTTLS'] })
    const backend = backendFor(server.port, { 'email.smtp.security': 'starttls' })
    await expectTemporary(backend.send(message), /STARTTLS/)
    expect(server.mails).toEqual([])
  })

  test('with tls rejects a server that does not speak it', async () => {
    const server = await open()
    const limits = { connectMs: 300, messageMs: 2000 }
    const backend = hastyBackendFor(server.port, limits, { 'email.smtp.security': 'tls' })
    await expectTemporary(backend.send(message), /./)
    expect(server.mails).toEqual([])
  })

  test('with none ignores an offer', async () => {
    const server = await open()
    await backendFor(server.port).send(message)
    expect(server.mails.map(({ isEncrypted }) => isEncrypted)).toEqual([false])
  })
})

describe('SMTP sign-in', () => {
  const onAuth: MailServerOptions['onAuth'] = ({ username, password }, _session, done) =>
    username === 'shop' && password === 'sécret' ? done(null, { user: username }) : done(new Error('who?'))

  test('uses the credentials', async () => {
    const server = await open({ authOptional: false, allowInsecureAuth: true, onAuth })
    await backendFor(server.port, credentials).send(message)
    expect(server.mails.map(({ user }) => user)).toEqual(['shop'])
  })

  test('failure is a fault of the configuration, not of the mail', async () => {
    const server = await open({ authOptional: false, allowInsecureAuth: true, onAuth })
    const backend = backendFor(server.port, { ...credentials, 'email.smtp.password': 'wrong' })
    await expectTemporary(backend.send(message), /Invalid login: 535/)
    expect(server.mails).toEqual([])
  })

  test('without required credentials is such a fault too', async () => {
    const server = await open({ authOptional: false, allowInsecureAuth: true, onAuth })
    await expectTemporary(backendFor(server.port).send(message), /530/)
    expect(server.mails).toEqual([])
  })

  test('is not skipped when the server does not offer it', async () => {
    const server = await open({ disabledCommands: ['AUTH'] })
    await expectTemporary(backendFor(server.port, credentials).send(message), /Invalid login/)
    expect(server.mails).toEqual([])
  })
})

describe('SMTP backend › a server response', () => {
  /** Returns the error for a recipient that names the reply: `r550@example.com`. */
  const refusalFor = (address: string) => {
    const code = /^r(\d{3})@/.exec(address)?.[1]
    return code === undefined ? undefined : new Refusal(Number(code), 'no, thanks')
  }
  const steps: Record<string, MailServerOptions> = {
    'RCPT TO': { onRcptTo: ({ address }, _session, done) => done(refusalFor(address)) },
    DATA: {
      judge({ to: [address = ''] }) {
        const refusal = refusalFor(address)
        if (refusal !== undefined) throw refusal
      },
    },
  }

  test.each(Object.keys(steps))('to %s decides whether another attempt makes sense', async (step) => {
    const server = await open(steps[step])
    const backend = backendFor(server.port)
    const verdicts: Record<number, string> = {}
    for (const code of [421, 450, 451, 452, 503, 530, 535, 550, 552, 554]) {
      const failure = await failureOf(backend.send({ ...message, to: `r${code}@example.com` }))
      expect(String(failure)).toContain(`${code} no, thanks`)
      verdicts[code] = failure instanceof MailRefused ? 'final' : 'temporary'
    }
    expect(verdicts).toEqual({
      421: 'temporary',
      450: 'temporary',
      451: 'temporary',
      452: 'temporary',
      503: 'temporary',
      530: 'temporary',
      535: 'temporary',
      550: 'final',
      552: 'final',
      554: 'final',
    })
    expect(server.mails).toEqual([])
  })

  test.each([
    [451, expectTemporary],
    [550, expectRefused],
  ])('decides it too with %d to MAIL FROM', async (code, expectFailure) => {
    const server = await open({
      onMailFrom: (_address, _session, done) => done(new Refusal(code, 'not you')),
    })
    await expectFailure(backendFor(server.port).send(message), new RegExp(`${code} not you`))
  })

  test('to one mail does not affect the next', async () => {
    const server = await open({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('nobody') ? new Refusal(550, 'unknown') : undefined),
    })
    const backend = backendFor(server.port, { 'email.smtp.max_connections': '1' })
    await expectRefused(backend.send({ ...message, to: 'nobody@example.com' }), /550 unknown/)
    await backend.send(message)
    expect(server.mails).toHaveLength(1)
  })

  test('is final for a mail that is too large', async () => {
    const server = await open({ size: 1000, rejectOversized: true })
    const backend = backendFor(server.port)
    await expectRefused(backend.send({ ...message, text: 'x'.repeat(5000) }), /552/)
  })
})

describe('SMTP backend › a server', () => {
  /** Accepts connections and handles them with the given function. */
  async function openRaw(handle: (socket: Socket) => void): Promise<number> {
    const sockets = new Set<Socket>()
    const server: Server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      handle(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleanUp.defer(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('no port')
    return address.port
  }

  test('is a temporary failure while it is unavailable', async () => {
    const server = await openMailServer()
    await server[Symbol.asyncDispose]()
    await expectTemporary(backendFor(server.port).send(message), /ECONNREFUSED/)
  })

  test('is a temporary failure when it hangs up at once', async () => {
    const port = await openRaw((socket) => socket.destroy())
    await expectTemporary(backendFor(port).send(message), /./)
  })

  test('times out when it never responds', async () => {
    const port = await openRaw(() => undefined)
    const backend = hastyBackendFor(port, { connectMs: 200, messageMs: 5000 })
    await expectTemporary(backend.send(message), /Greeting never received/)
  })

  test('times out when it trickles its responses', async () => {
    const timers = new Set<NodeJS.Timeout>()
    cleanUp.defer(() => timers.forEach(clearInterval))
    const port = await openRaw((socket) => {
      socket.write('220 hello\r\n')
      // The response never ends and never pauses for long.
      socket.once('data', () => timers.add(setInterval(() => socket.write('250-more\r\n'), 20)))
    })
    const backend = hastyBackendFor(port, { connectMs: 2000, messageMs: 300 })
    await expectTemporary(backend.send(message), /took too long/)
  })

  test('is abandoned when it does not respond to a mail, and the next mail is sent', async () => {
    const stalled = Promise.withResolvers<void>()
    const server = await open({
      judge: (mail) => (mail.content.subject === 'stall' ? stalled.promise : undefined),
    })
    cleanUp.defer(() => stalled.resolve())
    const limits = { connectMs: 3000, messageMs: 3000 }
    const backend = hastyBackendFor(server.port, limits, { 'email.smtp.max_connections': '2' })
    const slow = failureOf(backend.send({ ...message, subject: 'stall' }))
    await backend.send(message)
    expect(server.mails.map(({ content }) => content.subject)).toEqual(['Hello'])
    expect(await slow).toEqual(new Error('the mail server took too long'))
    await backend.send(message)
    expect(server.mails).toHaveLength(2)
  })

  test('does not get the mail twice by one attempt when it is lost before it responds', async () => {
    const server: MailServer = await open({ judge: () => server.drop() })
    await expectTemporary(backendFor(server.port).send(message), /./)
    await waitFor('the mail', () => server.mails.length > 0)
    expect(server.connections.opened).toBe(1)
  })

  test('gets the next mail by another connection when it dropped an idle one', async () => {
    const server = await open()
    const backend = backendFor(server.port)
    await backend.send(message)
    server.drop()
    await backend.send(message)
    expect(server.mails).toHaveLength(2)
    expect(server.connections.opened).toBe(2)
  })
})

describe('SMTP backend › connections', () => {
  test('are kept, up to the configured maximum', async () => {
    const server = await open()
    const backend = backendFor(server.port, { 'email.smtp.max_connections': '3' })
    await Promise.all(Array.from({ length: 30 }, () => backend.send(message)))
    expect(server.mails).toHaveLength(30)
    expect(server.connections.most).toBeLessThanOrEqual(3)
    expect(server.connections.opened).toBeLessThanOrEqual(3)
  })

  test('close after mails in flight have been sent', async () => {
    const held = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const server = await open({
      judge() {
        arrived.resolve()
        return held.promise
      },
    })
    const backend = backendFor(server.port)
    const sending = backend.send(message)
    await arrived.promise
    let isClosed = false
    const closing = backend.close().then(() => {
      isClosed = true
    })
    await expectTemporary(backend.send(message), /the server is stopping/)
    expect(isClosed).toBe(false)
    held.resolve()
    await sending
    await closing
    expect(server.mails).toHaveLength(1)
  })
})
