/**
 * Node of an expression as PostgreSQL stores it (`pg_node_tree`; written by `nodes/outfuncs.c`, read by
 * `nodes/read.c`). Operators, functions and types are object ids there, which no search path and no name can change.
 */
export interface ExpressionNode {
  /** Tag as it is written: `OPEXPR`. */
  readonly tag: string
  readonly fields: ReadonlyMap<string, NodeValue>
}

/** Token, node or list. Bitmapsets and the bytes of a constant are lists, too, with the tokens around them. */
export type NodeValue = string | ExpressionNode | readonly NodeValue[]

/** Text of a null pointer and of an empty list. */
export const nothing = '<>'

/**
 * Pattern of a parenthesis or brace, or of a token up to the next of these. In a token a backslash protects any
 * character.
 */
const tokens = /[(){}]|(?:\\[\s\S]|[^\s(){}\\])+/g

/**
 * Parses a stored expression.
 *
 * @returns undefined when the text has another form
 */
export function parseStoredExpression(text: string): NodeValue | undefined {
  const reader = new NodeReader(text.match(tokens) ?? [])
  const value = reader.readValue()
  return reader.isAtEnd ? value : undefined
}

class NodeReader {
  readonly #tokens: readonly string[]
  #position = 0

  constructor(list: readonly string[]) {
    this.#tokens = list
  }

  get isAtEnd(): boolean {
    return this.#position === this.#tokens.length
  }

  readValue(): NodeValue | undefined {
    const token = this.#next()
    if (token === '{') return this.#readNode()
    if (token === '(') return this.#readList()
    return token === undefined || token === ')' || token === '}' ? undefined : token
  }

  #readNode(): ExpressionNode | undefined {
    const tag = this.#next()
    if (tag === undefined) return undefined
    const fields = new Map<string, NodeValue>()
    for (;;) {
      const name = this.#next()
      if (name === '}') return { tag, fields }
      if (name?.startsWith(':') !== true || fields.has(name.slice(1))) return undefined
      const value = this.#readField()
      if (value === undefined) return undefined
      fields.set(name.slice(1), value)
    }
  }

  /**
   * Reads a field. Its first token is a value even when it looks like a name. The bytes of a constant follow its
   * length.
   */
  #readField(): NodeValue | undefined {
    const values: NodeValue[] = []
    do {
      const value = this.readValue()
      if (value === undefined) return undefined
      values.push(value)
    } while (!this.#isFieldEnd())
    return values.length === 1 ? values[0] : values
  }

  #isFieldEnd(): boolean {
    const token = this.#tokens[this.#position]
    return token === undefined || token === '}' || token.startsWith(':')
  }

  #readList(): readonly NodeValue[] | undefined {
    const values: NodeValue[] = []
    while (this.#tokens[this.#position] !== ')') {
      const value = this.readValue()
      if (value === undefined) return undefined
      values.push(value)
    }
    this.#position += 1
    return values
  }

  #next(): string | undefined {
    const token = this.#tokens[this.#position]
    this.#position += 1
    return token
  }
}

export function isNode(value: NodeValue | undefined): value is ExpressionNode {
  return typeof value === 'object' && 'tag' in value
}

/** Returns the nodes of a list field; undefined when it holds anything else. */
export function nodesOf(node: ExpressionNode, field: string): readonly ExpressionNode[] | undefined {
  const value = node.fields.get(field)
  if (value === nothing) return []
  return Array.isArray(value) && value.every(isNode) ? value : undefined
}

/** Returns every node below the value, that one included. */
export function* walk(value: NodeValue | undefined): Iterable<ExpressionNode> {
  if (Array.isArray(value)) for (const each of value) yield* walk(each)
  else if (isNode(value)) {
    yield value
    for (const field of value.fields.values()) yield* walk(field)
  }
}

/** Returns the text of a constant of type `text`; undefined for null and for another storage form. */
export function textOfConstant(node: ExpressionNode): string | undefined {
  const bytes = bytesOfConstant(node)
  if (bytes === undefined || node.fields.get('constlen') !== '-1') return undefined
  const [first = 0] = bytes
  // The header has one byte or four, and holds the length (varatt.h). A compressed or external value has another
  // header.
  const isShort = (first & 1) === 1 && first >> 1 === bytes.length
  const isLong = bytes.length >= 4 && bytes.readUInt32LE() === bytes.length << 2
  if (!isShort && !isLong) return undefined
  return bytes.subarray(isShort ? 1 : 4).toString('utf8')
}

/** Returns the value of a constant of type `boolean`; null for NULL, undefined for another storage form. */
export function booleanOfConstant(node: ExpressionNode): boolean | null | undefined {
  if (node.fields.get('constisnull') === 'true') return null
  const bytes = bytesOfConstant(node)
  if (bytes === undefined || node.fields.get('constbyval') !== 'true') return undefined
  return bytes.some((byte) => byte !== 0)
}

function bytesOfConstant(node: ExpressionNode): Buffer | undefined {
  const value = node.fields.get('constvalue')
  if (!Array.isArray(value) || value[1] !== '[' || value.at(-1) !== ']') return undefined
  const bytes = value.slice(2, -1).map(Number)
  return bytes.every((byte) => Number.isInteger(byte)) ? Buffer.from(bytes) : undefined
}
