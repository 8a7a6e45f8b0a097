import { Type } from 'typebox'
import { text } from '../../../config/keys.ts'

/** `admin`: the administrator. */
export const adminConfig = Type.Object({
  password: text('', 'Password of the administrator. Empty: generated at the first start and printed once.', {
    secret: true,
    pattern: '^(.{8,1024})?$',
    expects: 'at least 8 characters',
  }),
})
