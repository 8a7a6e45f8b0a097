import { checkedByHandler, component, refusedWith } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { storageErrors } from './errors.ts'

/** Names that are paths of the API. */
export const reservedBuckets: readonly string[] = ['buckets', 'upload']

export const bucketPattern = '^[a-z0-9_-]{1,63}$'

/** Parameter of a path. No bucket has another name, whatever PostgreSQL would say of it. */
export const bucketName = refusedWith(
  { invalid: storageErrors.bucketNotFound },
  Type.String({ pattern: bucketPattern }),
)
export const bucketParams = Type.Object({ bucket: bucketName })

/** @throws AppError bucket_name_required, invalid_bucket_name */
export function readBucketName(name: string | undefined): string {
  if (name === undefined || name === '') throw storageErrors.bucketNameRequired()
  if (!new RegExp(bucketPattern).test(name)) {
    throw storageErrors.invalidBucketName('use 1 to 63 of a-z, 0-9, - and _')
  }
  if (reservedBuckets.includes(name)) throw storageErrors.invalidBucketName(`${name} is a path of the API`)
  return name
}

const maxNameBytes = 1024
const segment = '(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f\\u007f-\\u009f]+'

/** Name of an object in a request. */
export const objectName = component(
  'ObjectName',
  checkedByHandler(
    {
      minLength: 1,
      maxLength: maxNameBytes,
      pattern: `^${segment}(/${segment})*$`,
      description: 'Segments between slashes, with at most 1,024 bytes together.',
    },
    Type.String(),
  ),
)

/**
 * Returns the name of an object in the composed form of Unicode, whichever form the client types it in.
 *
 * @throws AppError invalid_object_name
 */
export function readObjectName(text: string): string {
  const problem = findNameProblem(text)
  if (problem !== undefined) throw storageErrors.invalidObjectName(problem)
  const name = text.normalize('NFC')
  if (Buffer.byteLength(name) > maxNameBytes) {
    throw storageErrors.invalidObjectName(`it must have at most ${maxNameBytes} bytes`)
  }
  return name
}

function findNameProblem(text: string): string | undefined {
  if (text === '') return 'it must not be empty'
  if (!text.isWellFormed()) return 'it must be well-formed Unicode'
  if (/\p{Cc}/u.test(text)) return 'it must not contain control characters'
  if (text.startsWith('/')) return 'it must not begin with a slash'
  const segments = text.split('/')
  if (segments.includes('')) return 'it must have no empty segments'
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    return 'no segment of it may be . or ..'
  }
  return undefined
}

/** Returns the prefix of the names in a list. It need not be a name itself. @throws AppError invalid_object_name */
export function readPrefix(text: string): string {
  if (!text.isWellFormed() || text.includes('\0')) {
    throw storageErrors.invalidObjectName('a prefix must be well-formed Unicode without NUL')
  }
  return text.normalize('NFC')
}

/** Returns the name as the path of a URL. */
export function encodeName(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/')
}
