import { expect, test } from 'vitest'
import { createTransport, type TokenSource } from './transport.ts'
import { createWritePosition } from './write-position.ts'

const respond = (position?: string) =>
  new Response('{}', { headers: position === undefined ? {} : { 'x-basalt-position': position } })

test('createWritePosition › keeps the latest position of one caller', () => {
  const position = createWritePosition()
  expect(position.headers('ada')).toEqual({})
  position.store('ada', respond('0/F'))
  expect(position.headers('ada')).toEqual({ 'x-basalt-position': '0/F' })
  position.store('ada', respond('1/0'))
  position.store('ada', respond('0/FFFFFFFF'))
  expect(position.headers('ada')).toEqual({ 'x-basalt-position': '1/0' })
  expect(position.headers(undefined)).toEqual({})
  position.store(undefined, respond('0/1'))
  expect([position.headers('ada'), position.headers(undefined)]).toEqual([{}, { 'x-basalt-position': '0/1' }])
})

test('createWritePosition › forgets the position after a write without one', () => {
  const position = createWritePosition()
  position.store('ada', respond('0/F'))
  position.store('ada', respond())
  expect(position.headers('ada')).toEqual({})
})

/** Creates a transport whose responses are prepared, and lists the positions of its requests. */
function createRecorder(auth: TokenSource | undefined, responses: readonly (Response | Error)[]) {
  const sent: (string | null)[] = []
  const transport = createTransport({
    url: 'http://localhost',
    auth,
    retries: 0,
    async fetch(_address, init) {
      const response = responses[sent.length] ?? respond()
      sent.push(new Headers(init?.headers).get('x-basalt-position'))
      if (response instanceof Error) throw response
      return response
    },
  })
  const read = () => transport.request('GET', 'collections/task', { isRepeatable: true })
  const write = () => transport.write('POST', 'collections/task', { body: {} })
  return { sent, read, write }
}

test('createTransport › sends the position of its last write, until the user changes', async () => {
  let user: string | undefined = 'ada'
  const auth = { token: () => user && `token of ${user}`, identity: () => user }
  const { sent, read, write } = createRecorder(auth, [respond(), respond('0/A')])
  await read()
  await write()
  await read()
  user = undefined
  await read()
  user = 'grace'
  await read()
  expect(sent).toEqual([null, null, '0/A', null, null])
})

test('createTransport › keeps the position after a rejected write, and forgets it after an uncertain one', async () => {
  const conflict = Response.json({ error: 'unique_violation', message: 'exists' }, { status: 409 })
  const { sent, read, write } = createRecorder(undefined, [
    respond('0/A'),
    conflict,
    respond(),
    new TypeError('fetch failed'),
  ])
  await write()
  await expect(write()).rejects.toMatchObject({ error: 'unique_violation' })
  await read()
  await expect(write()).rejects.toMatchObject({ error: 'network_error' })
  await read()
  expect(sent).toEqual([null, '0/A', '0/A', '0/A', null])
})

test('createTransport › sends the consistency of a read', async () => {
  const sent: (string | null)[] = []
  const transport = createTransport({
    url: 'http://localhost',
    async fetch(_address, init) {
      sent.push(new Headers(init?.headers).get('x-read-consistency'))
      return respond()
    },
  })
  await transport.request('GET', 'collections/task', { isRepeatable: true })
  await transport.request('GET', 'collections/task', { isRepeatable: true, consistency: 'eventual' })
  expect(sent).toEqual([null, 'eventual'])
})
