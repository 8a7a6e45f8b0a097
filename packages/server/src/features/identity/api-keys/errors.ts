import { defineErrors } from '../../../lib/errors.ts'

export const apiKeyErrorTable = {
  invalidApiKey: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body is missing or has the wrong form, or names what does not exist; the message names it.',
  },
  apiKeyNotFound: {
    status: 404,
    message: 'api key not found',
    help: 'The key does not exist, is of another user, or is already revoked.',
  },
} as const

export const apiKeyErrors = defineErrors(apiKeyErrorTable)
