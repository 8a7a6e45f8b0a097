import { parse, print, visit } from 'graphql'
import { expect, test } from 'vitest'
import { printDocument } from './graphql-document.ts'

const everything = String.raw`
query Q($id: [Int!]! = [1, 2], $input: Input = {a: "\"\\\n\u00e9", b: [null, true, -1.5e3, ENUM, {}]} @deprecated, $none: String = "") @live {
  first: field(id: $id, block: """
    a "block"
      string
  """, empty: [], object: {nested: {a: $input}}) @include(if: true) @skip(if: $no) {
    ...F @on
    ... on Type @type { a }
    ... @include(if: $yes) { b }
    ... { c }
  }
}
mutation { run }
subscription S { changes }
fragment F on Type @fragment { d }
{ short }
`

test('document printer › prints a tree that parses to the same tree', () => {
  const { definitions } = parse(everything)
  const strings = visit(parse(everything), { StringValue: (node) => ({ ...node, block: false }) })
  expect(print(parse(printDocument(definitions)))).toBe(print(strings))
  // Code generators write trees as JSON, without the members that are empty.
  expect(printDocument(JSON.parse(JSON.stringify(parse(everything, { noLocation: true }))).definitions)).toBe(
    printDocument(definitions),
  )
})

test('document printer › rejects a definition that is not executable', () => {
  const { definitions } = parse('type Type { a: Int }')
  expect(() => printDocument(definitions)).toThrow(
    new TypeError('a document has operations and fragments, not ObjectTypeDefinition'),
  )
})
