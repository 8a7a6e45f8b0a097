import { defineErrors } from '../../../lib/errors.ts'

export const accessErrorTable = {
  invalidCaller: {
    status: 400,
    message: (problem: string) => problem,
    help: '`as` names the caller to examine. The message names the field and what was expected.',
  },
  callerNotFound: {
    status: 404,
    message: (what: string) => `${what} not found`,
    help: 'No user, API key or OAuth client matches `as`.',
  },
  invalidExplanation: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The message names the field of the request and what was expected.',
  },
  policyNotFound: {
    status: 404,
    message: (name: string, table: string) => `policy "${name}" not found on ${table}`,
    help: 'The table has no policy of this name. Names are case-sensitive.',
  },
  invalidExpression: {
    status: 400,
    message: (field: string, problem: string) => `${field}: ${problem}`,
    help: 'A policy has a single boolean expression, without unbalanced parentheses or further clauses.',
  },
  caseNotPossible: {
    status: 400,
    message: (problem: string) => problem,
    help: 'Cases can be made only for users, API keys and requests without a token.',
  },
  caseFileExists: {
    status: 409,
    message: (name: string) => `${name} exists`,
    help: 'Choose another name, since case files are not overwritten.',
  },
} as const

export const accessErrors = defineErrors(accessErrorTable)
