import { defineErrors } from '../../../lib/errors.ts'

export const apiKeyErrorTable = {
  invalidApiKey: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body is missing, malformed, or names a missing object. The message names the member.',
  },
  apiKeyHasActions: {
    status: 403,
    message: 'a key with actions can be rotated by an administrator only',
    help: 'An administrator has granted the key actions such as `email:send`, which its user lacks. Rotate it by `POST /api/admin/api-keys/{id}/rotate`.',
  },
  apiKeyNotFound: {
    status: 404,
    message: 'api key not found',
    help: 'The key does not exist, belongs to another user, or is already revoked.',
  },
} as const

export const apiKeyErrors = defineErrors(apiKeyErrorTable)
