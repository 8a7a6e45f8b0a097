import { defineErrors } from '../../../lib/errors.ts'

export const appErrorTable = {
  invalidApp: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body is missing or malformed. The message names the member.',
  },
  appNotFound: {
    status: 404,
    message: 'app not found',
    help: 'No app has this id. `GET /api/admin/apps` lists the apps.',
  },
  defaultAppKept: {
    status: 409,
    message: 'the default app cannot be deleted',
    help: 'Requests that belong to no other app are counted under the default app.',
  },
} as const

export const appErrors = defineErrors(appErrorTable)
