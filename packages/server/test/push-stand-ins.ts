import { createDecipheriv, createECDH, generateKeyPairSync, hkdfSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Message as a push provider received it. */
export interface PushedMessage {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Response with status, JSON body and headers. */
export type PushAnswer = readonly [status: number, body?: unknown, headers?: Readonly<Record<string, string>>]

export interface PushStandIn extends AsyncDisposable {
  readonly url: string
  readonly received: PushedMessage[]
  /** Response to further messages. */
  answer: (message: PushedMessage) => PushAnswer | Promise<PushAnswer>
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Starts a stand-in for FCM with its token endpoint at `/token`, or for the push service of a browser. */
export async function startHttpPush(
  answer: PushStandIn['answer'],
): Promise<PushStandIn & { tokens: number }> {
  const server = createServer(async (request, response: ServerResponse) => {
    const body = await readAll(request)
    const { url: path = '', headers } = request
    if (path === '/token') {
      standIn.tokens += 1
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ access_token: `access-${standIn.tokens}`, expires_in: 3600 }))
      return
    }
    const message = { path, headers, body }
    standIn.received.push(message)
    const [status, json, extra] = await standIn.answer(message)
    response.writeHead(status, { 'content-type': 'application/json', ...extra })
    response.end(json === undefined ? '' : JSON.stringify(json))
  })
  const standIn = {
    url: await listen(server),
    received: [] as PushedMessage[],
    tokens: 0,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
  return standIn
}

/** Starts a stand-in for APNs: HTTP/2 without TLS. */
export async function startApns(
  answer: PushStandIn['answer'],
): Promise<PushStandIn & { readonly sessions: Set<ServerHttp2Session>; opened: number }> {
  const server = createHttp2Server()
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    standIn.opened += 1
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', async (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined)
    const body = await readAll(stream)
    const message = { path: String(headers[':path']), headers, body }
    standIn.received.push(message)
    const [status, json, extra] = await standIn.answer(message)
    if (stream.destroyed) return
    stream.respond({ ':status': status, 'apns-id': headers['apns-id'], ...extra })
    stream.end(json === undefined ? '' : JSON.stringify(json))
  })
  const standIn = {
    url: await listen(server),
    received: [] as PushedMessage[],
    sessions,
    opened: 0,
    answer,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy()
      server.close()
    },
  }
  return standIn
}

/** Writes a service account of Firebase to a file. */
export function writeServiceAccount(tokenUri: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return write('service-account.json', JSON.stringify(serviceAccount(tokenUri, pem(privateKey))))
}

function serviceAccount(tokenUri: string, privateKey: string) {
  return {
    type: 'service_account',
    project_id: 'shop',
    private_key_id: 'k1',
    private_key: privateKey,
    client_email: 'push@shop.example',
    token_uri: tokenUri,
  }
}

/** Writes a signing key of APNs to a file. */
export function writeApnsKey(): string {
  return write('key.p8', createApnsKey())
}

export function createApnsKey(): string {
  return pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
}

function pem(key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }))
}

function write(name: string, content: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'basalt-push-')), name)
  writeFileSync(path, content, { mode: 0o600 })
  return path
}

/** Creates a browser's subscription, which can decrypt its messages (RFC 8291 §3). */
export function createSubscription() {
  const ecdh = createECDH('prime256v1')
  ecdh.generateKeys()
  const auth = randomBytes(16)
  const hkdf = (secret: Buffer, salt: Buffer, info: Buffer, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, info, length))
  return {
    keys: { p256dh: ecdh.getPublicKey('base64url'), auth: auth.toString('base64url') },
    read(body: Buffer): unknown {
      const salt = body.subarray(0, 16)
      const sender = body.subarray(21, 21 + (body[20] ?? 0))
      const record = body.subarray(21 + sender.length)
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender])
      const input = hkdf(ecdh.computeSecret(sender), auth, info, 32)
      const key = hkdf(input, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
      const nonce = hkdf(input, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
      const cipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(record.subarray(-16))
      const plain = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()])
      return JSON.parse(plain.subarray(0, -1).toString('utf8'))
    },
  }
}
