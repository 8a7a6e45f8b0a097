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
    help: 'Arguments are passed by name: name the parameters in the declaration of the function. A single parameter of type json or jsonb may stay unnamed; it takes the whole body.',
  },
  unknownArgument: {
    status: 400,
    message: (argument: string, name: string, suggestion: string) =>
      `unknown argument "${argument}" of function ${name}${suggestion}`,
    help: 'The function has no such parameter; the message names the nearest one.',
  },
  noOverload: {
    status: 400,
    message: (name: string, signatures: string) =>
      `no function "${name}" takes these arguments together: ${signatures}`,
    help: 'Several functions have this name, each other parameters; the message lists them.',
  },
  ambiguousFunction: {
    status: 400,
    message: (name: string, signatures: string) => `function "${name}" is ambiguous: ${signatures}`,
    help: 'Several functions of this name take the arguments, and their names do not tell them apart. Give the parameters different names.',
  },
  unsupportedFunction: {
    status: 400,
    message: (name: string, problem: string) => `function "${name}" cannot be called here: ${problem}`,
    help: 'Parameters of a polymorphic type leave open what an argument is, and a record without declared columns what the rows of a set are.',
  },
  argumentsNotObject: {
    status: 400,
    message: 'invalid JSON body: expected an object',
    help: 'Send the arguments as a JSON object, by the names of the parameters.',
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
    help: 'Filter, sort, pages and fields are for functions that return rows.',
  },
} as const

export const procedureErrors = defineErrors(procedureErrorTable)

/** What another look at the catalog may clear up: the request names what the snapshot does not have. */
export const unknownProcedureKinds: ReadonlySet<string> = new Set([
  'function_not_found',
  'unnamed_parameters',
  'unknown_argument',
  // Of a composite argument, or of what the function returns.
  'unknown_column',
  'no_overload',
  'ambiguous_function',
  'unsupported_function',
])
