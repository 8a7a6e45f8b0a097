import { defineErrors } from '../../../lib/errors.ts'

export const advisorErrorTable = {
  adviceNotFound: {
    status: 404,
    message: 'advice not found',
    help: 'No current advice has this id; its problem may be fixed. `GET /api/admin/advisors` lists the current advice.',
  },
  invalidDismissal: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A field of the dismissal has the wrong form. The message names it.',
  },
} as const

export const advisorErrors = defineErrors(advisorErrorTable)
