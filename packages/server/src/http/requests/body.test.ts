import createFastify from 'fastify'
import { expect, test } from 'vitest'
import { acceptJson, acceptJsonText } from './body.ts'

function post(accept: typeof acceptJson, body: string) {
  const app = createFastify()
  accept(app)
  app.post('/', (request, reply) => {
    // A careless merge would do this.
    const copied = Object.assign({}, request.body) as Record<string, unknown>
    void reply.send({ body: request.body, isAdmin: copied.isAdmin === true })
  })
  return app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'application/json' }, body })
}

test.each(['{"__proto__":{"isAdmin":true},"a":1}', '{"\\u005f_proto__":{"isAdmin":true},"a":1}'])(
  'JSON body › drops a member that would become a prototype: %s',
  async (body) => {
    expect((await post(acceptJson, body)).json()).toEqual({ body: { a: 1 }, isAdmin: false })
  },
)

test('JSON body › returns values as JSON.parse does', async () => {
  const values = { a: [1.5, null, true, 'x\u0000'], nested: { deep: [{}] }, größe: '\\u0041' }
  expect((await post(acceptJson, JSON.stringify(values))).json().body).toEqual(values)
})

test('JSON body › returns the text that was sent', async () => {
  const text = '{ "n": 12345678901234567890.10, "n": 2 }'
  expect((await post(acceptJsonText, text)).json().body).toBe(text)
})

test('JSON body › rejects a value that is nested deeper than 1,000 levels, whatever its texts contain', async () => {
  const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const text = `{"a":"${'{['.repeat(2000)}\\"[","b":${lists(999)}}`
  expect((await post(acceptJson, text)).statusCode).toBe(200)
  for (const deep of [lists(1001), `{"a":${lists(1000)}}`, `${'{"a":'.repeat(1001)}1${'}'.repeat(1001)}`]) {
    const { statusCode, body } = await post(acceptJson, deep)
    expect([statusCode, body]).toEqual([400, expect.stringContaining('nested too deeply (max 1000 levels)')])
  }
})
