import { parseSync } from 'rolldown/utils'
import {
  beginsWithTag,
  type Extract,
  type Line,
  type Medium,
  type Name,
  type Paragraph,
  type Subject,
  splitParagraphs,
} from './prose.ts'

/** Node of the syntax tree, of whatever type. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** Members of schemas and tables whose strings people read. */
const described = new Set(['description', 'help', 'summary', 'usage', 'hint'])
/** Functions of `config/keys.ts`, whose arguments hold the description of a key. */
const keys = new Set(['automatic', 'flag', 'integer', 'list', 'text', 'choice', 'duration', 'size', 'number'])
/** Argument that is a sentence, such as the description that `described` adds to a schema. */
const sentence = /^[\p{Lu}`].*\s.*\.$/su
const labels = new Set(['title', 'label', 'placeholder', 'description', 'hint', 'aria-label', 'help'])
const directive =
  /^\s*(?:biome-ignore|@ts-|eslint|\/\s*<|#(?:end)?region|v8 ignore|@vite-ignore|__PURE__|@__PURE__)/

/** Extracts comments, titles of tests, descriptions and declared names of a source. */
export function extractSource(file: string, source: string): Extract {
  const { program, comments, errors } = parseSync(file, source, {
    lang: file.endsWith('.tsx') ? 'tsx' : file.endsWith('.ts') ? 'ts' : 'jsx',
  })
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const lineOf = lineFinder(source)
  const subjects = new Map<number, Subject>()
  const paragraphs: Paragraph[] = []
  const names: Name[] = []
  const add = (medium: Medium, lines: readonly Line[], subject?: Subject) => {
    for (const [index, part] of splitParagraphs(lines).entries()) {
      paragraphs.push({
        file,
        medium,
        lines: part,
        ...(subject === undefined || index > 0 || beginsWithTag(lines) ? {} : { subject }),
      })
    }
  }
  const addText = (medium: Medium, node: Node) => {
    const text = stringOf(node)
    if (text !== undefined && /\p{L}/u.test(text)) {
      const first = lineOf(node.start)
      const lines = text.split('\n').map((part, index) => ({ number: first + index, text: part }))
      add(medium, lines)
    }
  }
  walk(program as unknown as Node, (node) => {
    const subject = subjectOf(node)
    if (subject !== undefined && !subjects.has(node.start)) subjects.set(node.start, subject)
    for (const name of namesOf(node))
      names.push({ file, line: lineOf(name.start), name: name.name, kind: name.kind })
    for (const [medium, text] of textsOf(node, file)) addText(medium, text)
  })

  let block: Line[] = []
  const flush = () => {
    if (block.length > 0) add('comment', block)
    block = []
  }
  for (const comment of comments) {
    const number = lineOf(comment.start)
    if (comment.type === 'Line') {
      const alone = source.slice(source.lastIndexOf('\n', comment.start) + 1, comment.start).trim() === ''
      if (!alone || block.at(-1)?.number !== number - 1) flush()
      if (!directive.test(comment.value)) block.push({ number, text: comment.value })
      if (!alone) flush()
      continue
    }
    flush()
    if (directive.test(comment.value)) continue
    const lines = comment.value
      .replace(/^\*/, '')
      .split('\n')
      .map((text, index) => ({ number: number + index, text: text.replace(/^\s*\*\s?/, '') }))
    const next = comment.end + (/^\s*/.exec(source.slice(comment.end))?.[0].length ?? 0)
    if (comment.value.startsWith('*')) add('docstring', lines, subjects.get(next) ?? 'file')
    else add('comment', lines)
  }
  flush()
  return { paragraphs, names }
}

/** Makes a function that finds the line of a position. */
function lineFinder(source: string): (position: number) => number {
  const starts = [0]
  for (let index = source.indexOf('\n'); index !== -1; index = source.indexOf('\n', index + 1))
    starts.push(index + 1)
  return (position) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= position) low = middle
      else high = middle - 1
    }
    return low + 1
  }
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  for (const key in node) {
    const value = node[key]
    if (Array.isArray(value)) {
      for (const child of value) if (isNode(child)) walk(child, visit)
    } else if (isNode(value)) {
      walk(value, visit)
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

/** Returns which kind of declaration a node is, or undefined for what a docstring cannot describe. */
function subjectOf(node: Node): Subject | undefined {
  switch (node.type) {
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      return isNode(node.declaration) ? subjectOf(node.declaration) : 'file'
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return functionOrComponent(node.id)
    case 'VariableDeclaration':
      return isNode((node.declarations as Node[])[0])
        ? subjectOf((node.declarations as Node[])[0] as Node)
        : 'value'
    case 'VariableDeclarator':
      return isFunction(node.init) ? functionOrComponent(node.id) : subjectOfType(typeOf(node.id))
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'TSEnumDeclaration':
    case 'TSModuleDeclaration':
      return 'type'
    case 'MethodDefinition':
    case 'TSAbstractMethodDefinition':
      return node.kind === 'method' ? 'function' : 'callback'
    case 'PropertyDefinition':
    case 'Property':
      if (isFunction(node.value)) return 'function'
      return subjectOfType(typeOf(node))
    case 'TSMethodSignature':
      return node.kind === 'method' ? 'function' : 'callback'
    case 'TSPropertySignature':
      return subjectOfType(typeOf(node))
    case 'Identifier':
    case 'TSParameterProperty':
    case 'AssignmentPattern':
      return subjectOfType(typeOf(node))
    default:
      return node.type.endsWith('Type') || node.type.endsWith('Expression') || node.type === 'Literal'
        ? 'value'
        : undefined
  }
}

function functionOrComponent(id: unknown): Subject {
  const name = isNode(id) && typeof id.name === 'string' ? id.name : ''
  return /^[A-Z]/.test(name) ? 'component' : 'function'
}

function isFunction(node: unknown): boolean {
  return isNode(node) && (node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression')
}

function typeOf(node: unknown): unknown {
  const annotation = isNode(node) ? node.typeAnnotation : undefined
  return isNode(annotation) && annotation.type === 'TSTypeAnnotation' ? annotation.typeAnnotation : annotation
}

function subjectOfType(type: unknown): Subject {
  if (!isNode(type)) return 'value'
  if (type.type === 'TSBooleanKeyword') return 'boolean'
  if (type.type === 'TSFunctionType') return 'callback'
  const members = type.type === 'TSUnionType' ? (type.types as Node[]) : []
  if (members.some((member) => member.type === 'TSFunctionType')) return 'callback'
  return members.some((member) => member.type === 'TSBooleanKeyword') ? 'boolean' : 'value'
}

/** Lists the names that a node declares. */
function* namesOf(node: Node): Generator<{ start: number; name: string; kind: Name['kind'] }> {
  const ids: [unknown, Name['kind']][] = []
  if (/^(?:TSInterface|TSTypeAlias|TSEnum|Class)Declaration$/.test(node.type)) ids.push([node.id, 'type'])
  if (node.type === 'FunctionDeclaration' || node.type === 'VariableDeclarator') ids.push([node.id, 'value'])
  if (node.type === 'MethodDefinition' || node.type === 'TSMethodSignature') ids.push([node.key, 'value'])
  if (node.type === 'TSPropertySignature') ids.push([node.key, 'value'])
  if (Array.isArray(node.params)) for (const parameter of node.params) ids.push([parameter, 'value'])
  for (const [id, kind] of ids) {
    if (isNode(id) && id.type === 'Identifier' && typeof id.name === 'string') {
      yield { start: id.start, name: id.name, kind }
    }
  }
}

/** Lists the strings of a node that people read. */
function* textsOf(node: Node, file: string): Generator<[Medium, Node]> {
  if (node.type === 'CallExpression') {
    const [first] = node.arguments as Node[]
    const name = rootName(node.callee)
    if (/\.test\.tsx?$/.test(file) && first !== undefined) {
      if (name === 'describe') yield ['suite', first]
      if (name === 'test' || name === 'it') yield ['test', first]
    }
    if (/(^|\/)config\.ts$/.test(file) && name !== undefined && keys.has(name)) {
      for (const argument of node.arguments as Node[]) {
        if (/\p{L}+ \p{L}+/u.test(stringOf(argument) ?? '')) yield ['text', argument]
      }
    } else if (!/\.test\.tsx?$/.test(file)) {
      for (const argument of node.arguments as Node[]) {
        if (sentence.test(stringOf(argument) ?? '')) yield ['text', argument]
      }
    }
  }
  if (node.type === 'Property' && isNode(node.key) && isNode(node.value) && !/\.test\.tsx?$/.test(file)) {
    const key = typeof node.key.name === 'string' ? node.key.name : node.key.value
    if (typeof key === 'string' && described.has(key)) yield ['text', node.value]
    if (key === 'message' && /(^|\/)errors\.ts$/.test(file)) yield ['message', node.value]
  }
  if (node.type === 'JSXText') yield ['label', node]
  if (node.type === 'JSXAttribute' && isNode(node.name) && isNode(node.value)) {
    if (typeof node.name.name === 'string' && labels.has(node.name.name)) yield ['label', node.value]
  }
}

/** Returns the identifier that a chain such as `test.skipIf(slow).each(rows)` begins with. */
function rootName(callee: unknown): string | undefined {
  if (!isNode(callee)) return undefined
  if (callee.type === 'Identifier') return callee.name as string
  if (callee.type === 'MemberExpression') return rootName(callee.object)
  if (callee.type === 'CallExpression') return rootName(callee.callee)
  if (callee.type === 'TaggedTemplateExpression') return rootName(callee.tag)
  return undefined
}

/** Returns the text of a string, a template or a sum of both; values in it are masked as code. */
function stringOf(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type === 'JSXText') return (node.value as string) ?? undefined
  if (node.type === 'JSXExpressionContainer')
    return isNode(node.expression) ? stringOf(node.expression) : undefined
  if (node.type === 'TemplateLiteral') {
    const quasis = node.quasis as unknown as { value: { cooked: string } }[]
    return quasis.map((quasi) => quasi.value.cooked).join('`…`')
  }
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const left = stringOf(node.left as Node)
    const right = stringOf(node.right as Node)
    return left === undefined && right === undefined ? undefined : `${left ?? '`…`'}${right ?? '`…`'}`
  }
  return undefined
}
