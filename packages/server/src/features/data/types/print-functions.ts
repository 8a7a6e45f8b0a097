import { printName, printText } from './column-types.ts'

/** Route of a function, with schemas whose references lead to their own `$defs`. */
export interface TypedRoute {
  readonly method: string
  readonly path: string
  /** Undefined if the function gets no input. */
  readonly input: JsonSchema | undefined
  /** Undefined if the result is unknown. */
  readonly output: JsonSchema | undefined
}

type JsonSchema = Readonly<Record<string, unknown>>

/** Maximum length of all parts of a type. Definitions that refer to each other could make it grow without end. */
const lengthLimit = 20_000

/** Prints the functions by their addresses, one a line. */
export function printFunctions(routes: readonly TypedRoute[]): string[] {
  return routes.map(({ method, path, input, output }) => {
    const given = input === undefined ? 'undefined' : printSchema(input)
    const result = output === undefined ? 'unknown' : printSchema(output)
    return `    ${printText(`${method} ${path}`)}: { Input: ${given}; Output: ${result} }`
  })
}

/** Returns the type of the values of a schema. It is `unknown` for a recursive part, and without an equivalent in TypeScript. */
export function printSchema(schema: JsonSchema): string {
  const printer = new SchemaPrinter((schema.$defs ?? {}) as Readonly<Record<string, JsonSchema>>)
  const text = printer.print(schema)
  return printer.isTooLong ? 'unknown' : text
}

class SchemaPrinter {
  readonly #definitions: Readonly<Record<string, JsonSchema>>
  /** Definitions that are printed at the moment. */
  readonly #open = new Set<string>()
  #length = 0

  constructor(definitions: Readonly<Record<string, JsonSchema>>) {
    this.#definitions = definitions
  }

  /** True if a part was not printed. */
  get isTooLong(): boolean {
    return this.#length > lengthLimit
  }

  print(schema: JsonSchema): string {
    if (this.isTooLong) return 'unknown'
    const text = this.#print(schema)
    this.#length += text.length
    return text
  }

  #print(schema: JsonSchema): string {
    const { $ref, allOf, anyOf, oneOf, type } = schema
    if (typeof $ref === 'string') return this.#reference($ref.replace('#/$defs/', ''))
    if ('const' in schema) return printLiteral(schema.const)
    if (Array.isArray(schema.enum)) return union(schema.enum.map(printLiteral))
    const parts = [
      ...(type === undefined && schema.properties === undefined ? [] : [this.#types(schema)]),
      ...[anyOf, oneOf].filter(Array.isArray).map((each) => union(each.map((one) => this.print(one)))),
      ...(Array.isArray(allOf) ? allOf.map((one) => this.print(one)) : []),
    ].filter((part) => part !== 'unknown')
    const distinct = [...new Set(parts)]
    if (distinct.length <= 1) return distinct[0] ?? 'unknown'
    return distinct.map(inParentheses).join(' & ')
  }

  #reference(name: string): string {
    const target = Object.hasOwn(this.#definitions, name) ? this.#definitions[name] : undefined
    if (target === undefined || this.#open.has(name)) return 'unknown'
    this.#open.add(name)
    const text = this.print(target)
    this.#open.delete(name)
    return text
  }

  #types(schema: JsonSchema): string {
    const { type = 'object' } = schema
    return union((Array.isArray(type) ? type : [type]).map((name) => this.#type(name, schema)))
  }

  #type(name: unknown, schema: JsonSchema): string {
    switch (name) {
      case 'integer':
      case 'number':
        return 'number'
      case 'array':
        return this.#array(schema)
      case 'object':
        return this.#object(schema)
      default:
        return String(name)
    }
  }

  #array({ items, prefixItems }: JsonSchema): string {
    const rest = typeof items === 'object' && items !== null ? this.print(items as JsonSchema) : 'unknown'
    if (!Array.isArray(prefixItems)) return `${inParentheses(rest)}[]`
    const first = prefixItems.map((item) => this.print(item))
    return `[${[...first, ...(items === false ? [] : [`...${inParentheses(rest)}[]`])].join(', ')}]`
  }

  #object({ properties = {}, required = [], additionalProperties, patternProperties }: JsonSchema): string {
    const members = Object.entries(properties as Readonly<Record<string, JsonSchema>>)
    const isRequired = new Set(required as readonly string[])
    if (members.length === 0) {
      const named = Object.values((patternProperties ?? {}) as Readonly<Record<string, JsonSchema>>)
      if (additionalProperties === false && named.length === 0) return 'Record<string, never>'
      const isTyped = typeof additionalProperties === 'object' && additionalProperties !== null
      const others =
        additionalProperties === false ? [] : [isTyped ? (additionalProperties as JsonSchema) : {}]
      return `{ [name: string]: ${union([...named, ...others].map((each) => this.print(each)))} }`
    }
    const printed = members.map(
      ([name, member]) => `${printName(name)}${isRequired.has(name) ? '' : '?'}: ${this.print(member)}`,
    )
    return `{ ${printed.join('; ')} }`
  }
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ')
}

/** Encloses a type that may be a union or an intersection. */
function inParentheses(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type
}

function printLiteral(value: unknown): string {
  if (typeof value === 'string') return printText(value)
  return value === null || ['number', 'boolean'].includes(typeof value) ? String(value) : 'unknown'
}
