import { refusedWith } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { mailErrors } from './errors.ts'

/** Pattern of keys: at least two words joined by dots. */
export const templateKeyForm = '^[a-z][a-z0-9]*(?:\\.[a-z][a-z0-9_]*)+$'
const form = new RegExp(templateKeyForm)
const limit = 255

/** Prefix of the keys of system templates. */
export const systemTemplatePrefix = 'auth.'

/** Key of a template in a request. */
export const templateKey = refusedWith(
  {
    missing: () => mailErrors.missingTemplateField('templateKey'),
    invalid: (key) => invalidTemplateKey(String(key)),
  },
  Type.String({
    minLength: 1,
    maxLength: limit,
    pattern: templateKeyForm,
    description: 'Words joined by dots, such as `auth.magic_link` or `shop.order_shipped`.',
  }),
)

/** Returns the key if it is valid. @throws AppError invalid_template_key */
export function requireTemplateKey(key: string): string {
  if (key.length <= limit && form.test(key)) return key
  throw invalidTemplateKey(key)
}

function invalidTemplateKey(key: string) {
  return mailErrors.invalidTemplateKey(key.length <= limit ? key : `${key.slice(0, limit)}…`)
}
