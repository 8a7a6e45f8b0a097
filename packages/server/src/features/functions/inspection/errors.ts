import { defineErrors } from '../../../lib/errors.ts'

export const inspectionErrorTable = {
  functionSourceNotFound: {
    status: 404,
    message: 'there is no such line of a function',
    help: 'The deploy is no longer kept, or the file has changed or moved. `GET /api/admin/functions/errors` lists frames with their file, line and deploy.',
  },
} as const

export const inspectionErrors = defineErrors(inspectionErrorTable)
