import { describe, expect, test } from 'vitest'
import { checkExtract } from './check.ts'
import { extractPage } from './extract-page.ts'
import { extractSource } from './extract-source.ts'

/** Lists the rules that a source breaks. */
const rulesOf = (source: string, file = 'some.ts') =>
  checkExtract(extractSource(file, source), []).map(({ rule }) => rule)
/** Lists the problems of a page. */
const problemsOf = (page: string) =>
  checkExtract(extractPage('page.md', page), []).map(({ problem }) => problem)

describe('language lint: docstrings', () => {
  test.each([
    ['docstring-first-word', '/** Whether the token is valid. */\nfunction isValid() {}'],
    ['docstring-first-word', '/** What a record has. */\ninterface Record {}'],
    ['docstring-first-word', '/** By how much a pause is longer. */\nconst jitter = 0.5'],
    ['docstring-verb', '/** The rows of a table. */\nexport function readRows() {}'],
    ['docstring-verb', '/** Rows of a table. */\nconst readRows = async () => []'],
    ['docstring-verb', '/** Names of tables. */\nfunction listTables() {}'],
    ['docstring-verb', '/** Read the rows. */\nfunction readRows() {}'],
    ['docstring-verb', 'class Pool {\n  /** A connection. */\n  acquire() {}\n}'],
    ['docstring-noun', '/** For callers without a token. */\nconst role = "anonymous"'],
    ['docstring-noun', 'interface Row {\n  /** As written. */\n  readonly text: string\n}'],
  ])('rejects as %s: %s', (rule, source) => {
    expect(rulesOf(source)).toContain(rule)
  })

  test.each([
    '/** Returns the rows of a table. */\nexport function readRows() {}',
    '/** Names the parameters and collects their values. */\nfunction nameParameters() {}',
    '/** Also returns rows of partitions. */\nfunction readRows() {}',
    '/** Maximum jitter added to a retry delay. */\nconst jitter = 0.5',
    'interface Row {\n  /** True if the caller may read the row. */\n  readonly isVisible: boolean\n}',
    'interface Row {\n  /** Undefined for callers without a token. */\n  readonly owner: string | undefined\n}',
    '/** Rows of a table. */\ninterface Rows {}',
    '/** Prints the files. */\nimport { readFileSync } from "node:fs"',
  ])('accepts %s', (source) => {
    expect(rulesOf(source)).toEqual([])
  })
})

describe('language lint: sentences', () => {
  test('rejects more than 30 words, without code, addresses and links', () => {
    const words = Array.from({ length: 30 }, () => 'word').join(' ')
    expect(problemsOf(`A ${words}.`)).toEqual(['31 words, of at most 30'])
    expect(problemsOf(`\`A code\` [and a link](https://example.com/a) 25 ${words}.`)).toEqual([])
  })

  test('counts the sentences of a paragraph, a list and a table apart', () => {
    const words = Array.from({ length: 20 }, () => 'word').join(' ')
    expect(
      problemsOf(`A ${words}. A ${words}.\n- A ${words}\n- A ${words}\n\n| A ${words} | A ${words} |`),
    ).toEqual([])
  })

  test.each([
    'The server rejects a token that a client sends which has expired.',
    'The relay reads the rows that changed, whose keys it knows.',
    'The policies decide what of a row a caller reads who has no token that names one.',
  ])('rejects two relative clauses: %s', (sentence) => {
    expect(problemsOf(sentence)).toContainEqual(expect.stringContaining('relative clauses'))
  })

  test.each([
    'The server rejects a token that has expired.',
    'The lock ensures that one node decides which rows are claimed.',
    'A token is rejected so that a client that reconnects gets a new one.',
    'The log shows who changed the row, and what it was.',
    'Connections are closed once that limit is reached.',
  ])('accepts %s', (sentence) => {
    expect(problemsOf(sentence)).toEqual([])
  })

  test('skips code blocks and HTML comments', () => {
    expect(problemsOf('Rows.\n\n```sh\n# nobody is there\n```\n\n<!-- not run: nobody -->\n')).toEqual([])
  })
})

describe('language lint: vocabulary', () => {
  test.each([
    ['Every node is told.', 'told'],
    ['The client comes back after a second.', 'comes back'],
    ['Nobody reads the stream.', 'Nobody'],
    ['The place of the row in the list.', 'The place'],
    ['Requests queue up behind it.', 'behind'],
    ['The node looks at the queue.', 'looks'],
    ['The server answers 404.', 'answers'],
    ['The database asks whether the row is visible.', 'asks whether'],
    ['The row is not there.', 'is not there'],
    ['The call is under way.', 'under way'],
    ['It waits for its turn.', 'its turn'],
    ['The plan stands in the cache.', 'stands'],
    ['Indexes are built at the start.', 'at the start'],
    ['Such a value is not taken.', 'not taken'],
    ['Of a large table the first rows are read.', 'Of'],
  ])('rejects %s', (sentence, word) => {
    expect(problemsOf(sentence)).toContainEqual(expect.stringContaining(`"${word}"`))
  })

  test.each([
    'The worker claims a job and holds its lease.',
    'A token has the claim `aal`.',
    'Write the tables of a join in the order of their size.',
    'The row is updated in place, the placeholder with it.',
    'Amounts have two decimal places.',
    'Run Basalt behind a proxy or behind a load balancer.',
    'The replica falls behind.',
    'Nodes share a pool.',
    'There is no index, so the planner looks up each key.',
    'The backup takes place at night.',
    'A question mark begins the query.',
    'The letters stand for roles.',
    'At the start of a transaction the role is set.',
    'The name is already taken.',
    'Of course the row is kept.',
  ])('accepts %s', (sentence) => {
    expect(problemsOf(sentence)).toEqual([])
  })
})

describe('language lint: names', () => {
  test.each(['interface ShownRow {}', 'type Asked = string', 'class LockTaken {}'])(
    'rejects %s',
    (source) => {
      expect(rulesOf(source)).toEqual(['name-type'])
    },
  )

  test.each(['const nobody = 1', 'function askDatabase() {}', 'interface Row { place: number }'])(
    'rejects %s',
    (source) => {
      expect(rulesOf(source)).toEqual(['name-value'])
    },
  )

  test.each(['interface RowResponse {}', 'const placeholder = 1', 'function lookUp() {}', 'const task = 1'])(
    'accepts %s',
    (source) => {
      expect(rulesOf(source)).toEqual([])
    },
  )
})

describe('language lint: titles of tests', () => {
  test.each([
    ['title-suite', "describe('a plain list', () => {})"],
    ['title-test', "test('of nothing is an empty page', () => {})"],
    ['title-test', "test.each(rows)('a failure releases %s', () => {})"],
    ['title-test', "test('nobody reads it', () => {})"],
  ])('rejects as %s: %s', (rule, source) => {
    expect(rulesOf(source, 'some.test.ts')).toContain(rule)
  })

  test.each([
    "describe('GET /collections/:table', () => {})",
    "test('returns an empty page when no row matches', () => {})",
    "test.skipIf(slow).each(rows)('rejects %s', () => {})",
  ])('accepts %s', (source) => {
    expect(rulesOf(source, 'some.test.ts')).toEqual([])
  })
})

describe('language lint: texts', () => {
  test.each([
    "const row = { description: 'Whoever asks.' }",
    "const errors = { gone: { help: 'The row is ' + 'not there.' } }",
    '// Nobody reads it.',
    "const from = described('Time of the first row that is not there.', timestamp)",
  ])('reads %s', (source) => {
    expect(rulesOf(source)).toContain('vocabulary')
  })

  test.each([
    "const row = { description: 'By default 20.' }",
    "const limit = rangeOf('Of each statement, at most 500.')",
    '// What was read is not read again.',
    '/* Whether it is set. */',
  ])('rejects the first word of %s', (source) => {
    expect(rulesOf(source)).toContain('first-word')
  })

  test.each([
    "const row = { description: 'Default: 20. By default, all rows are read.' }",
    '// When the lease expires, another worker claims the job.',
  ])('accepts %s', (source) => {
    expect(rulesOf(source)).toEqual([])
  })

  test('reads what people see of a page', () => {
    expect(rulesOf('const page = <p title="Look again">Nobody</p>', 'page.tsx')).toEqual([
      'vocabulary',
      'vocabulary',
    ])
  })
})

describe('language lint: exceptions', () => {
  test('allow a sentence of a file', () => {
    const extract = extractSource('some.ts', '// Nobody is an island.')
    const exception = { file: 'some.ts', subject: 'Nobody is', reason: 'a quotation' }
    expect(checkExtract(extract, [exception])).toEqual([])
    expect(checkExtract(extract, [{ ...exception, file: 'other.ts' }])).toHaveLength(1)
  })
})
