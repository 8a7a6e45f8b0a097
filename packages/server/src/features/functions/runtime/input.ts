import { Compile } from 'typebox/schema'
import { describeValidation } from '../../../http/errors/error-handler.ts'
import type { TSchema } from '../../../lib/type.ts'
import { runtimeErrors } from './errors.ts'
import type { FunctionDescription } from './messages.ts'

type Validator = ReturnType<typeof Compile>

/** Validators of the schemas that are JSON Schemas. The child validates those of other libraries. */
export class SchemaChecks {
  readonly #validators = new WeakMap<object, Validator>()

  /** Returns the input in the types of its schema. @throws AppError invalid_input */
  readInput({ input, method }: FunctionDescription, given: unknown): unknown {
    if (input === undefined) return given
    const value = method === 'GET' || method === 'DELETE' ? readTypes(given, input) : given
    const validator = this.#validatorOf(input)
    if (validator.Check(value)) return value
    const [, errors] = validator.Errors(value)
    throw runtimeErrors.invalidInput(describe(errors, 'input'))
  }

  /** Checks a result. @throws AppError function_failed */
  checkOutput({ output, name }: FunctionDescription, json: string | undefined): void {
    if (output === undefined) return
    const value: unknown = json === undefined ? undefined : JSON.parse(json)
    const validator = this.#validatorOf(output)
    if (validator.Check(value)) return
    const [, errors] = validator.Errors(value)
    const problem = describe(errors, 'result')
    throw runtimeErrors
      .functionFailed()
      .with({ cause: new Error(`the result of ${name} is invalid: ${problem}`) })
  }

  #validatorOf(schema: object): Validator {
    let validator = this.#validators.get(schema)
    if (validator === undefined) {
      validator = Compile(schema as TSchema)
      this.#validators.set(schema, validator)
    }
    return validator
  }
}

/** Returns the first fault as `quantity: must be integer`; a fault of the whole has its name. */
function describe(errors: ReturnType<Validator['Errors']>[1], whole: string): string {
  const [first] = errors
  const problem = describeValidation({ validation: first === undefined ? [] : [first] })
  return problem.replace(/^request /, `${whole} `)
}

/** Converts texts of parameters to the types of their schema, where they have the form of one. */
function readTypes(given: unknown, schema: object): unknown {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: unknown }>> }
  return Object.fromEntries(
    Object.entries(given as Readonly<Record<string, unknown>>).map(([name, value]) => [
      name,
      readType(value, Object.hasOwn(properties, name) ? properties[name]?.type : undefined),
    ]),
  )
}

function readType(value: unknown, type: unknown): unknown {
  if (typeof value !== 'string') return value
  if (type === 'boolean' && /^(true|false)$/.test(value)) return value === 'true'
  const isNumber = type === 'integer' || type === 'number'
  return isNumber && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
