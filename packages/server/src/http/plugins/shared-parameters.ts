/** Parameter of an OpenAPI document, or a reference to one. */
interface Parameter {
  readonly $ref?: string
  readonly in?: string
  readonly name?: string
}

interface Operation {
  readonly operationId?: string
  readonly parameters?: readonly Parameter[]
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

interface SharedParameter {
  readonly parameter: Parameter
  /** First segments of the ids of its operations. */
  readonly groups: Set<string>
  uses: number
}

/**
 * Moves parameters that several operations share to the components of an OpenAPI document (OpenAPI 3.1 §4.8.7).
 * Their names begin with their group of operations, as in `collectionsFilter`. Parameters that several groups
 * share have no prefix.
 *
 * @param sharedGroup group whose parameters are all shared
 */
export function shareParameters<Document extends { components?: object; paths?: object }>(
  document: Document,
  sharedGroup = '',
): Document {
  // The plugin produces paths of operations.
  const paths = (document.paths ?? {}) as Paths
  const byText = new Map<string, SharedParameter>()
  for (const { operationId = '', parameters = [] } of Object.values(paths).flatMap(
    Object.values<Operation>,
  )) {
    const [group = ''] = operationId.split('.', 1)
    for (const parameter of parameters) {
      const text = JSON.stringify(parameter)
      const known = byText.get(text) ?? { parameter, groups: new Set(), uses: 0 }
      known.groups.add(group)
      known.uses += 1
      byText.set(text, known)
    }
  }
  const nameByText = new Map<string, string>()
  const shared = new Map<string, Parameter>()
  for (const [text, { parameter, groups, uses }] of byText) {
    if (uses === 1 && !groups.has(sharedGroup)) continue
    const name = freeName(baseName(parameter, [...groups]), shared)
    nameByText.set(text, name)
    shared.set(name, parameter)
  }
  const refer = (parameter: Parameter): Parameter => {
    const name = nameByText.get(JSON.stringify(parameter))
    return name === undefined ? parameter : { $ref: `#/components/parameters/${name}` }
  }
  const share = (operation: Operation): Operation =>
    operation.parameters === undefined
      ? operation
      : { ...operation, parameters: operation.parameters.map(refer) }
  return {
    ...document,
    paths: mapValues(paths, (methods) => mapValues(methods, share)),
    components: { ...document.components, parameters: Object.fromEntries(shared) },
  }
}

function baseName({ name = '' }: Parameter, groups: readonly string[]): string {
  const [group] = groups
  const words = [...(groups.length === 1 && group !== undefined ? [group] : []), ...name.split(/\W|_/)]
  return words.map((word, index) => (index === 0 ? word : capitalize(word))).join('')
}

function freeName(base: string, taken: ReadonlyMap<string, unknown>): string {
  let name = base
  for (let number = 2; taken.has(name); number += 1) name = `${base}${number}`
  return name
}

function capitalize(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
}

function mapValues<Value>(
  object: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))
}
