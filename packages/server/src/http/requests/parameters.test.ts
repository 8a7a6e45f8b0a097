import { describe, expect, test } from 'vitest'
import { AppError } from '../../lib/errors.ts'
import { type TSchema, Type } from '../../lib/type.ts'
import { choice, refusedWith } from '../schemas.ts'
import { compileValidator } from './parameters.ts'

const missing = new AppError('name_missing', 400, 'name is required')
const invalid = new AppError('mode_invalid', 400, 'mode must be fast or slow')

const body = Type.Object({
  name: refusedWith({ missing: () => missing }, Type.String({ minLength: 1, maxLength: 5 })),
  mode: Type.Optional(refusedWith({ invalid: () => invalid }, choice(['fast', 'slow']))),
})

function validate(schema: TSchema, value: unknown, httpPart = 'body'): unknown {
  const check = compileValidator({ schema, method: 'POST', url: '/', httpPart })
  return check(value)
}

describe('body validation', () => {
  test.each([
    [{ name: 'a', mode: 'fast' }, undefined],
    [{}, missing],
    [{ name: '' }, missing],
    [{ name: '', mode: 'other' }, missing],
    [{ name: 'a', mode: 'other' }, invalid],
  ])('checks %j and returns the error that the member declares', (value, error) => {
    expect(validate(body, value)).toEqual(error === undefined ? { value } : { error })
  })

  test.each([
    ['a value of the wrong type', { name: 1 }, 'type'],
    ['a rule without an error of its own', { name: 'too long' }, 'maxLength'],
  ])('returns the general error for %s', (_, value, keyword) => {
    expect(validate(body, value)).toEqual({ error: [expect.objectContaining({ keyword })] })
  })
})

describe('query validation', () => {
  const query = Type.Object({
    size: Type.Optional(refusedWith({ invalid: () => invalid }, Type.Integer({ minimum: 1 }))),
    all: Type.Optional(refusedWith({ invalid: () => invalid }, Type.Boolean())),
    plain: Type.Optional(Type.Boolean()),
  })

  test.each([
    [{ size: '12' }, { size: 12 }],
    [{ all: 'true' }, { all: true }],
    [{ plain: 'false' }, { plain: false }],
  ])('reads %j by the types of the schema', (value, read) => {
    expect(validate(query, value, 'querystring')).toEqual({ value: read })
  })

  test.each([{ size: '0' }, { size: '1.5' }, { size: 'x' }, { all: '1' }, { all: '' }])(
    'rejects %j with the error that the member declares',
    (value) => {
      expect(validate(query, value, 'querystring')).toEqual({ error: invalid })
    },
  )

  test.each([
    ['a text without an error of its own', { plain: 'yes' }, 'type'],
    ['a repeated parameter', { size: ['1', '2'] }, 'repeated'],
  ])('returns the general error for %s', (_, value, keyword) => {
    const { error } = validate(query, value, 'querystring') as { error: unknown }
    expect(error).toEqual(expect.arrayContaining([expect.objectContaining({ keyword })]))
  })
})
