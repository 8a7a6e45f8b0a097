import { expect, it } from 'vitest'
import { isProxyResponse } from './connection.ts'

const envelope = { code: 504, message: 'The statement took too long.', error: 'statement_timeout' }

it.each([
  ['a page of a proxy', new Response('<h1>Bad Gateway</h1>', { status: 502 }), true],
  ['nothing', new Response(null, { status: 504 }), true],
  ['other JSON', Response.json({ error: 'upstream' }, { status: 502 }), true],
  ['JSON that is not an object', Response.json(null, { status: 504 }), true],
  ['the envelope of the API', Response.json(envelope, { status: 504 }), false],
  ['another status', new Response('', { status: 503 }), false],
])(
  'dashboard › connection › detects whether %s comes from a proxy, and leaves the body readable',
  async (_, response, expected) => {
    expect(await isProxyResponse(response)).toBe(expected)
    expect(response.bodyUsed).toBe(false)
  },
)
