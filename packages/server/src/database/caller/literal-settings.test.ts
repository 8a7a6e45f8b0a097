import { describe, expect, test } from 'vitest'
import { AppError } from '../../lib/errors.ts'
import { setLocally } from './literal-settings.ts'

describe('set local', () => {
  test.each([
    ['a text', 'alice@example.com', `set local "basalt"."user_email" = 'alice@example.com'`],
    ['nothing', '', `set local "basalt"."user_email" = ''`],
    ['a quote', `o'hara`, `set local "basalt"."user_email" = 'o''hara'`],
    ['a backslash', 'a\\', `set local "basalt"."user_email" =  E'a\\\\'`],
    [
      'a quote after a backslash',
      `\\'; reset role; --`,
      `set local "basalt"."user_email" =  E'\\\\''; reset role; --'`,
    ],
    ['a dollar quote', '$$x$$', `set local "basalt"."user_email" = '$$x$$'`],
    ['several lines', 'a\nb', `set local "basalt"."user_email" = 'a\nb'`],
  ])('quotes %s', (_, value, text) => {
    const { statement, values } = setLocally(['basalt.user_email', value])
    expect(statement).toEqual({ text, name: '', subject: undefined, reads: [] })
    expect(values).toEqual([])
  })

  test('rejects NUL as a fault of the request', () => {
    const error = catchError(() => setLocally(['basalt.user_email', 'a\0b']))
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({
      status: 400,
      message: 'invalid value: text cannot hold the character U+0000',
    })
  })
})

function catchError(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
