import { defineErrors } from '../../../lib/errors.ts'

export const advisorErrorTable = {
  adviceNotFound: {
    status: 404,
    message: 'advice not found',
    help: 'There is no advice with this id now; what it was about may be mended. `GET /api/admin/advisors` lists what there is.',
  },
  invalidDismissal: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A field of the dismissal has the wrong form; the message names it.',
  },
} as const

export const advisorErrors = defineErrors(advisorErrorTable)
