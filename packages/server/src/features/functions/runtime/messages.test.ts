import { describe, expect, test } from 'vitest'
import { readMessage } from './messages.ts'

const description = {
  kind: 'route',
  name: 'orders',
  file: 'orders.ts',
  method: 'POST',
  path: '/orders/:id',
  access: 'user',
  hasInput: false,
  hasOutput: false,
}

describe('readMessage', () => {
  test.each([
    { type: 'pong' },
    { type: 'loaded', functions: [description] },
    { type: 'unloadable', problems: ['orders.ts: a problem'] },
    { type: 'sql', call: 'token', id: 0, text: 'select 1', values: ['a', null] },
    { type: 'request', call: 'token', id: 1, method: 'GET', path: 'collections/note', query: '' },
    { type: 'log', level: 'info', message: 'a line', fields: { a: 1 } },
    { type: 'result', call: 'token' },
    { type: 'failure', call: 'token', kind: 'refused', message: 'no', status: 409, error: 'a_slug' },
  ])('accepts %j', (message) => {
    expect(readMessage(message)).toEqual(message)
  })

  test.each([
    [{ type: 'query' }, 'unknown message "query"'],
    [{ type: 'constructor' }, 'unknown message "constructor"'],
    [{ type: '__proto__' }, 'unknown message "__proto__"'],
    [{ type: 1 }, 'unknown message ""'],
    [[], 'unknown message ""'],
    [null, 'unknown message ""'],
    ['pong', 'unknown message ""'],
    [{ type: 'pong', more: true }, 'malformed message "pong"'],
    [{ type: 'sql', call: 'token', id: 1 }, 'malformed message "sql"'],
    [{ type: 'sql', call: 'token', id: -1, text: '', values: [] }, 'malformed message "sql"'],
    [{ type: 'sql', call: 'token', id: 1, text: '', values: [1] }, 'malformed message "sql"'],
    [{ type: 'result', call: 1 }, 'malformed message "result"'],
    [{ type: 'result', call: 'x'.repeat(65) }, 'malformed message "result"'],
    [{ type: 'log', level: 'fatal', message: '' }, 'malformed message "log"'],
    [
      { type: 'failure', call: 'a', kind: 'refused', message: '', status: 500 },
      'malformed message "failure"',
    ],
    [
      { type: 'failure', call: 'a', kind: 'refused', message: '', status: 200 },
      'malformed message "failure"',
    ],
    [
      { type: 'failure', call: 'a', kind: 'refused', message: '', error: 'A B' },
      'malformed message "failure"',
    ],
    [{ type: 'loaded', functions: [{ ...description, access: 'all' }] }, 'malformed message "loaded"'],
    [{ type: 'loaded', functions: [{ ...description, path: 'orders' }] }, 'malformed message "loaded"'],
  ])('rejects %j', (message, problem) => {
    expect(() => readMessage(message)).toThrow(problem)
  })
})
