import { printName, printText } from '../packages/server/src/features/data/types/column-types.ts'

/** Part of JSON Schema that the schemas of the API use. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Parameter {
  readonly in: string
  readonly name: string
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

/** Part of an OpenAPI document that is read here. */
export interface ApiDocument {
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Prints TypeScript types of the calls of operations, and of the JSON of their requests and responses. */
export function printOperations({ components, paths }: ApiDocument): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `${printDescription(schema)}export type ${name} = ${print(schema, 'request')}`,
  )
  const printed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.operationId,
      text: printOperation(method, path, operation, components.parameters),
    })),
  )
  return `// Generated from the schemas of the routes by \`npm run generate\`.

${schemas.join('\n\n')}

/** The operations of the API, by name. */
export interface Operations {
${printed
  .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  .map(({ text }) => text)
  .join('\n')}
}
`
}

function printOperation(
  method: string,
  path: string,
  operation: Operation,
  shared: Readonly<Record<string, Parameter>>,
): string {
  const { operationId, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).flatMap((parameter) =>
    '$ref' in parameter
      ? (shared[parameter.$ref.replace('#/components/parameters/', '')] ?? [])
      : [parameter],
  )
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => printText(name))
  const body = jsonOf(requestBody)
  const answers = Object.entries(responses).flatMap(([status, response]) =>
    status === 'default' ? [] : (jsonOf(response) ?? []),
  )
  const members = [
    `readonly method: '${method.toUpperCase()}'`,
    `readonly path: ${printPath(path)}`,
    `readonly query: ${query.join(' | ') || 'never'}`,
    `readonly body: ${body === undefined ? 'undefined' : print(body, 'request')}`,
    `readonly answer: ${printUnion(answers, 'response') || 'undefined'}`,
  ]
  return indent(`${printName(operationId)}: ${printBlock(members)}`)
}

/** Prints a path below `/api/`, where most are; any text is a variable part. */
function printPath(path: string): string {
  const below = path.replace(/^\/api\//, '')
  return below.includes('{') ? `\`${below.replaceAll(/{[^}]+}/g, `\${string}`)}\`` : printText(below)
}

const jsonOf = (part: Content | undefined): Schema | undefined => part?.content?.['application/json']?.schema

/** Direction of JSON. Callers may give undefined for omitted members, which JSON does not have. */
type Direction = 'request' | 'response'

function print(schema: Schema, direction: Direction): string {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '')
  if (schema.enum !== undefined) return schema.enum.map(printLiteral).join(' | ')
  if (schema.allOf !== undefined) {
    const { allOf, ...own } = schema
    return [...allOf, own].map((each) => print(each, direction)).join(' & ')
  }
  // Next to members, alternatives only say which of them belong together.
  if (schema.anyOf !== undefined && schema.properties === undefined)
    return printUnion(schema.anyOf, direction)
  const { type } = schema
  if (Array.isArray(type))
    return printUnion(
      type.map((each) => ({ ...schema, type: each })),
      direction,
    )
  switch (type) {
    case 'object':
      return printObject(schema, direction)
    case 'array':
      return `ReadonlyArray<${print(schema.items ?? {}, direction)}>`
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case undefined:
      return 'unknown'
    default:
      throw new Error(`a schema has the type ${type}, which is not printed yet`)
  }
}

function printUnion(schemas: readonly Schema[], direction: Direction): string {
  return [...new Set(schemas.map((schema) => print(schema, direction)))].join(' | ')
}

function printObject(schema: Schema, direction: Direction): string {
  const { properties = {}, required = [], additionalProperties = false } = schema
  const absent = direction === 'request' ? ' | undefined' : ''
  const members = Object.entries(properties).map(([name, property]) => {
    const type = print(property, direction)
    const isRequired = required.includes(name)
    return `${printDescription(property)}readonly ${printName(name)}${isRequired ? `: ${type}` : `?: ${type}${absent}`}`
  })
  if (additionalProperties !== false) {
    // Next to other members, it needs a type that includes theirs.
    const isAlone = members.length === 0 && additionalProperties !== true
    members.push(`readonly [name: string]: ${isAlone ? print(additionalProperties, direction) : 'unknown'}`)
  }
  return members.length === 0 ? 'object' : printBlock(members)
}

const printDescription = ({ description }: Schema) =>
  description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/')} */\n`

const printLiteral = (value: unknown) =>
  typeof value === 'string' ? printText(value) : JSON.stringify(value)

const printBlock = (members: readonly string[]) => `{\n${indent(members.join('\n'))}\n}`

const indent = (text: string) => text.replaceAll(/^/gm, '  ')
