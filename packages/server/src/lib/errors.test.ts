import { describe, expect, test } from 'vitest'
import { AppError, codeOf, defineErrors, errorKind, messageOf, OperatorError } from './errors.ts'

const errors = defineErrors({
  recordNotFound: { status: 404, message: 'record not found', help: '' },
  unknownColumn: {
    status: 400,
    message: (name: string, where: string) => `unknown column "${name}" in ${where}`,
    help: '',
  },
  __proto__x: { status: 400, message: 'odd', help: '' },
})

describe('error of a table', () => {
  test('has the kind, status and message of its row', () => {
    const error = errors.recordNotFound()
    expect(error).toBeInstanceOf(AppError)
    expect(error).toBeInstanceOf(Error)
    expect({ ...error, message: error.message }).toEqual({
      name: 'AppError',
      kind: 'record_not_found',
      status: 404,
      message: 'record not found',
      extras: {},
    })
  })

  test('builds its message from its arguments', () => {
    expect(errors.unknownColumn('$&', 'sort').message).toBe('unknown column "$&" in sort')
  })

  test('is a new object each time', () => {
    expect(errors.recordNotFound()).not.toBe(errors.recordNotFound())
  })

  test('adds extras, and later ones override', () => {
    const cause = new Error('why')
    const first = errors.recordNotFound().with({ data: { a: 1 }, headers: { 'retry-after': '1' } })
    const second = first.with({ data: { b: 2 }, detail: 'private', cause })
    expect(second.extras).toEqual({
      data: { b: 2 },
      headers: { 'retry-after': '1' },
      detail: 'private',
      cause,
    })
    expect([second.kind, second.status, second.message, second.cause]).toEqual([
      'record_not_found',
      404,
      'record not found',
      cause,
    ])
    expect(first.extras).toEqual({ data: { a: 1 }, headers: { 'retry-after': '1' } })
    expect('cause' in first).toBe(false)
  })
})

test.each([
  ['recordNotFound', 'record_not_found'],
  ['conflict', 'conflict'],
  ['invalidJSON', 'invalid_j_s_o_n'],
])('errors › convert the key %s to the slug %s', (key, kind) => {
  expect(errorKind(key)).toBe(kind)
})

test.each([
  [new Error('why'), 'why'],
  ['text', 'text'],
  [undefined, 'undefined'],
  [{ message: 'no error' }, '[object Object]'],
])('errors › have a message for anything thrown: %s', (thrown, message) => {
  expect(messageOf(thrown)).toBe(message)
})

test.each([
  [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  [{ code: '23505' }, '23505'],
  [{ code: 5 }, undefined],
  [new Error('x'), undefined],
  [null, undefined],
  ['23505', undefined],
])('errors › have for %s the code %s', (thrown, code) => {
  expect(codeOf(thrown)).toBe(code)
})

test('operator errors › exit with 1, or 2 for wrong usage', () => {
  const cause = new Error('why')
  expect(new OperatorError('the port is taken')).toMatchObject({ message: 'the port is taken', exitCode: 1 })
  expect(new OperatorError('no such command', { exitCode: 2, cause })).toMatchObject({ exitCode: 2, cause })
})
