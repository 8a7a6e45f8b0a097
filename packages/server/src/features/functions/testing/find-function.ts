import { type FunctionDescription, runtimeErrors } from '../runtime/index.ts'

/** Function as a test names it: by its name, or by the members of its definition that identify it. */
export type FunctionReference = string | Readonly<Record<string, unknown>>

/** Returns the function of a name or a definition. @throws AppError invalid_invocation */
export function findFunction(
  functions: readonly FunctionDescription[],
  reference: FunctionReference,
): FunctionDescription {
  const found = functions.filter((each) => isNamed(each, reference))
  const [first] = found
  if (first === undefined) {
    const name = typeof reference === 'string' ? reference : describe(reference)
    throw runtimeErrors.invalidInvocation(`there is no function ${name}; there are: ${listNames(functions)}`)
  }
  if (found.length > 1)
    throw runtimeErrors.invalidInvocation(
      `expected the name of one of the like functions ${listNames(found)}`,
    )
  return first
}

function isNamed(description: FunctionDescription, reference: FunctionReference): boolean {
  if (typeof reference === 'string') return description.name === reference
  const known = new Map<string, unknown>(Object.entries(description))
  return Object.entries(reference).every(
    ([member, value]) => JSON.stringify(known.get(member)) === JSON.stringify(value),
  )
}

function listNames(functions: readonly FunctionDescription[]): string {
  return functions.map(({ name }) => name).join(', ') || 'none'
}

function describe({ kind, ...members }: Readonly<Record<string, unknown>>): string {
  return `${String(kind)} ${Object.values(members).join(' ')}`
}
