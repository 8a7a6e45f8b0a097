import { defineErrors } from '../../../lib/errors.ts'

export const authSettingsErrorTable = {
  authDisabled: {
    status: 404,
    message: 'auth is not enabled',
    help: 'The server runs with `auth.enabled = false`, without accounts.',
  },
} as const

export const authSettingsErrors = defineErrors(authSettingsErrorTable)
