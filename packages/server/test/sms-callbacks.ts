import { createHash, createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'

/** Signs callbacks as the documentation of Twilio says. */

export function signTwilio(token: string, url: string, body: string): Record<string, string> {
  const fields = [...new URLSearchParams(body)].sort(([a], [b]) => (a < b ? -1 : 1))
  const signed = url + fields.map(([name, value]) => name + value).join('')
  return {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': createHmac('sha1', token).update(signed).digest('base64'),
  }
}

export function signPlivo(token: string, url: string, body: string): Record<string, string> {
  const fields = [...new URLSearchParams(body)].sort(([a], [b]) => (a < b ? -1 : 1))
  const signed = `${url}?${fields.map(([name, value]) => name + value).join('')}.4711`
  return {
    'content-type': 'application/x-www-form-urlencoded',
    'x-plivo-signature-v3': `b2xk,${createHmac('sha256', token).update(signed).digest('base64')}`,
    'x-plivo-signature-v3-nonce': '4711',
  }
}

/** Creates a key pair of Telnyx, with the public key in the format of its portal. */
export function createTelnyxKey(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return {
    publicKey: raw.toString('base64'),
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}

export function signTelnyx(privateKey: string, seconds: number, body: string): Record<string, string> {
  const signature = sign(null, Buffer.from(`${seconds}|${body}`), createPrivateKey(privateKey))
  return {
    'content-type': 'application/json',
    'telnyx-timestamp': String(seconds),
    'telnyx-signature-ed25519': signature.toString('base64'),
  }
}

export function signVonage(
  secret: string,
  seconds: number,
  body: string,
  { alg = 'HS256', apiKey = 'abcd1234' } = {},
): Record<string, string> {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const hash = createHash('sha256').update(body).digest('hex')
  const signed = `${encode({ alg, typ: 'JWT' })}.${encode({ iat: seconds, api_key: apiKey, payload_hash: hash })}`
  const signature = createHmac('sha256', secret).update(signed).digest('base64url')
  return { 'content-type': 'application/json', authorization: `Bearer ${signed}.${signature}` }
}

export function signWebhook(secret: string, body: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-webhook-signature': createHmac('sha256', secret).update(body).digest('hex'),
  }
}
