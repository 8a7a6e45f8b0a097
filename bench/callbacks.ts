import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { RawConnection } from './raw-connection.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/** Measures signed reports of providers a second over keep-alive connections. Each changes a row. */
const connections = 32
const seconds = 10
const targetPerSecond = 2000
const messages = 60_000

const directory = createDirectory()
const server = await startServer(directory, {
  BASALT_AUTH_TWILIO_TOKEN: 'token',
  BASALT_BILLING_PROVIDER: 'stripe',
  BASALT_BILLING_WEBHOOK_SECRET: 'whsec',
})
const target = new URL(server.url)
try {
  await runScript(directory, basalt, [
    'sql',
    `insert into basalt.sms_messages (recipient, body, provider, message_id, status)
     select '+1', '', 'twilio', 'SM' || n, 'accepted' from generate_series(0, ${messages - 1}) n`,
  ])
  const sms = Array.from({ length: messages }, (_, n) => reportStatus(`SM${n}`))
  await measure('text messages', (n) => sms[n % messages] ?? Buffer.alloc(0))
  await measure('billing', reportSubscription)
} finally {
  const stopped = once(server.process, 'exit')
  server.process.kill()
  await stopped
  rmSync(directory, { recursive: true, force: true })
}

async function measure(name: string, create: (n: number) => Buffer): Promise<void> {
  let [sent, answered, isOver] = [0, 0, false]
  for (let index = 0; index < connections; index += 1) {
    const connection = new RawConnection(target)
    const send = () =>
      connection.send(create(sent++), () => {
        answered += 1
        if (!isOver) send()
      })
    send()
  }
  const begunAt = performance.now()
  await delay(seconds * 1000)
  isOver = true
  const perSecond = (answered / (performance.now() - begunAt)) * 1000
  const verdict = perSecond >= targetPerSecond ? 'reached' : 'missed'
  console.log(`${name}: ${Math.round(perSecond)} reports a second (target ${targetPerSecond}: ${verdict})`)
}

function reportStatus(id: string): Buffer {
  const path = '/api/webhooks/sms/status'
  const signed = `${target.origin}${path}MessageSid${id}MessageStatusdelivered`
  const signature = createHmac('sha1', 'token').update(signed).digest('base64')
  const type = 'application/x-www-form-urlencoded'
  return render(path, `x-twilio-signature: ${signature}`, type, `MessageSid=${id}&MessageStatus=delivered`)
}

function reportSubscription(n: number): Buffer {
  const time = Math.floor(Date.now() / 1000)
  const object = { id: `sub_${n % 1000}`, status: n % 2 === 0 ? 'active' : 'past_due' }
  const event = { id: randomUUID(), type: 'customer.subscription.updated', created: time, data: { object } }
  const body = JSON.stringify(event)
  const signature = createHmac('sha256', 'whsec').update(`${time}.${body}`).digest('hex')
  return render(
    '/api/webhooks/billing',
    `stripe-signature: t=${time},v1=${signature}`,
    'application/json',
    body,
  )
}

function render(path: string, signature: string, type: string, body: string): Buffer {
  return Buffer.from(
    [
      `POST ${path} HTTP/1.1`,
      `host: ${target.host}`,
      signature,
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
}
