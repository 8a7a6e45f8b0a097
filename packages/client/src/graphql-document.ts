/** Node of a GraphQL syntax tree (GraphQL specification, Document). */
interface SyntaxNode {
  readonly kind: string
  // biome-ignore lint/suspicious/noExplicitAny: the kind of a node decides its members
  readonly [member: string]: any
}

/** Prints a node. Line breaks and commas have no meaning in GraphQL, so the text has none. */
function print(node: SyntaxNode): string {
  const { kind, name, value, directives, selectionSet } = node
  const rest = () => `${printAll(directives)}${selectionSet === undefined ? '' : print(selectionSet)}`
  const condition = () => (node.typeCondition === undefined ? '' : ` on ${print(node.typeCondition)}`)
  switch (kind) {
    case 'OperationDefinition':
      return `${node.operation} ${name?.value ?? ''}${printAll(node.variableDefinitions, '()')}${rest()}`
    case 'FragmentDefinition':
      return `fragment ${name.value}${condition()}${rest()}`
    case 'SelectionSet':
      return printAll(node.selections, '{}')
    case 'Field':
      return `${node.alias === undefined ? '' : `${node.alias.value}:`}${name.value}${printAll(node.arguments, '()')}${rest()}`
    case 'FragmentSpread':
      return `...${name.value}${rest()}`
    case 'InlineFragment':
      return `...${condition()}${rest()}`
    case 'Directive':
      return `@${name.value}${printAll(node.arguments, '()')}`
    case 'VariableDefinition':
      return `${print(node.variable)}:${print(node.type)}${node.defaultValue === undefined ? '' : `=${print(node.defaultValue)}`}${rest()}`
    case 'Argument':
    case 'ObjectField':
      return `${name.value}:${print(value)}`
    case 'Variable':
      return `$${name.value}`
    case 'NamedType':
      return name.value
    case 'ListType':
      return `[${print(node.type)}]`
    case 'NonNullType':
      return `${print(node.type)}!`
    case 'ListValue':
      return `[${printAll(node.values)}]`
    case 'ObjectValue':
      return `{${printAll(node.fields)}}`
    case 'StringValue':
      return JSON.stringify(value)
    case 'NullValue':
      return 'null'
    case 'IntValue':
    case 'FloatValue':
    case 'BooleanValue':
    case 'EnumValue':
      return String(value)
    default:
      throw new TypeError(`a document has operations and fragments, not ${kind}`)
  }
}

/** Prints nodes one after the other, within the brackets unless there are none. */
function printAll(nodes: readonly SyntaxNode[] = [], [open = '', close = ''] = ''): string {
  return nodes.length === 0 ? '' : `${open}${nodes.map(print).join(' ')}${close}`
}

/** @internal Prints the definitions of a document. @throws TypeError for a node that no request can contain */
export const printDocument = (definitions: readonly SyntaxNode[]): string => printAll(definitions)
