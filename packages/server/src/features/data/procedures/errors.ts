import { defineErrors } from '../../../lib/errors.ts'

export const procedureErrorTable = {
  functionNotFound: {
    status: 404,
    message: (name: string) => `function not found: ${name}`,
    help: 'No function of `database.schemas` has this name. Outside `public` it is `schema.function`. Procedures, triggers, aggregates and functions of extensions are not served.',
  },
  unnamedParameters: {
    status: 400,
    message: (name: string) => `function "${name}" has unnamed parameters; cannot match by name`,
    help: 'Arguments are passed by name, so name the parameters in the declaration of the function. Only a single parameter of type json or jsonb may be unnamed; it gets the whole body.',
  },
  unknownArgument: {
    status: 400,
    message: (argument: string, name: string, suggestion: string) =>
      `unknown argument "${argument}" of function ${name}${suggestion}`,
    help: 'The function has no such parameter. The message names the nearest one.',
  },
  noOverload: {
    status: 400,
    message: (name: string, signatures: string) =>
      `no function "${name}" takes these arguments together: ${signatures}`,
    help: 'Several functions have this name, each with other parameters. The message lists them.',
  },
  ambiguousFunction: {
    status: 400,
    message: (name: string, signatures: string) => `function "${name}" is ambiguous: ${signatures}`,
    help: 'Several functions of this name accept the arguments, and their names do not distinguish them. Give the parameters different names.',
  },
  unsupportedFunction: {
    status: 400,
    message: (name: string, problem: string) => `function "${name}" cannot be called here: ${problem}`,
    help: 'A parameter of a polymorphic type does not determine the type of its argument. A record without declared columns does not determine the rows of a set.',
  },
  argumentsNotObject: {
    status: 400,
    message: 'invalid JSON body: expected an object',
    help: 'Send the arguments as a JSON object, with the names of the parameters.',
  },
  argumentGivenTwice: {
    status: 400,
    message: (name: string) => `parameter "${name}" is given more than once`,
    help: 'Only a parameter of an array type may be given more than once in a query string.',
  },
  notASet: {
    status: 400,
    message: (parameter: string, name: string) =>
      `parameter "${parameter}" applies to functions that return a set, which "${name}" does not`,
    help: 'Filter, sort, pages and fields apply to functions that return rows.',
  },
} as const

export const procedureErrors = defineErrors(procedureErrorTable)

/** Errors that a refreshed catalog may resolve: the request names an object missing from the snapshot. */
export const unknownProcedureKinds: ReadonlySet<string> = new Set([
  'function_not_found',
  'unnamed_parameters',
  'unknown_argument',
  // The column is one of a composite argument, or of the result of the function.
  'unknown_column',
  'no_overload',
  'ambiguous_function',
  'unsupported_function',
])
