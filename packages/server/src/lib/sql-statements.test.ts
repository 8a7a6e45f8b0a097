import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitStatements } from './sql-statements.ts'

describe('statements of a script', () => {
  test.each<[what: string, script: string, statements: string[]]>([
    ['nothing', ' \n-- only ; a comment\n/* and ; another */ ;; ', []],
    ['two, the last without an end', 'select 1; select 2', ['select 1', 'select 2']],
    [
      'strings',
      "select 'a;''b', E'c\\';d', U&'e;'; select \"f;\"\"g\"",
      ["select 'a;''b', E'c\\';d', U&'e;'", 'select "f;""g"'],
    ],
    ['a backslash that escapes nothing', "select 'a\\'; select 2", ["select 'a\\'", 'select 2']],
    [
      'dollar quotes',
      'do $$ begin; end $$; do $a$ $$;$$ $a$; select 1',
      ['do $$ begin; end $$', 'do $a$ $$;$$ $a$', 'select 1'],
    ],
    ['a name with dollars', 'select a$b$; select c$b$', ['select a$b$', 'select c$b$']],
    ['parameters', 'prepare p as select $1; execute p(1)', ['prepare p as select $1', 'execute p(1)']],
    [
      'comments within',
      'select 1 -- ; one\n, 2 /* ; /* ; */ ; */; select 3',
      ['select 1 -- ; one\n, 2', 'select 3'],
    ],
    [
      'parentheses',
      'create rule r as on update to t do also (select 1; select 2); select 3',
      ['create rule r as on update to t do also (select 1; select 2)', 'select 3'],
    ],
    [
      'a body of statements',
      'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3',
      [
        'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end',
        'select 3',
      ],
    ],
    ['a transaction', 'begin; select 1; end', ['begin', 'select 1', 'end']],
    ['a quote that is not closed', "select 'a; select 2", ["select 'a; select 2"]],
    ['a comment that is not closed', 'select 1; /* ; select 2', ['select 1']],
  ])('are %s', (_what, script, statements) => {
    expect(splitStatements(script).map(({ text }) => text)).toEqual(statements)
  })

  test('know the line where they begin, after the comments before them, and their first words', () => {
    const script = '-- first\n\nCREATE Table a ();\n/* two\nlines */ select 1;'
    expect(splitStatements(script)).toEqual([
      { text: 'CREATE Table a ()', start: 10, line: 3, words: ['create', 'table', 'a'], parameters: 0 },
      { text: 'select 1', start: 45, line: 5, words: ['select'], parameters: 0 },
    ])
  })

  test('know their last parameter, and ignore strings, comments and names', () => {
    const script = 'select $2, $1; select \'$3\', a$4, "$5", $q$ $6 $q$ -- $7\n; select $1::text'
    expect(splitStatements(script).map(({ parameters }) => parameters)).toEqual([2, 0, 1])
  })

  test('contain the whole script, except for blanks, comments and the semicolons between them', () => {
    const piece = fc.constantFrom(
      "'",
      '"',
      '$$',
      '$a$',
      ';',
      '(',
      ')',
      '--',
      '\n',
      '/*',
      '*/',
      ' x ',
      'begin ',
      'é',
      '\\',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const script = pieces.join('')
        let rest = 0
        for (const { text, line } of splitStatements(script)) {
          const lineAt = (position: number) => script.slice(0, position).split('\n').length
          let found = script.indexOf(text, rest)
          // A comment before it may have the same text.
          while (found >= rest && lineAt(found) < line) found = script.indexOf(text, found + 1)
          expect(found).toBeGreaterThanOrEqual(rest)
          expect(lineAt(found)).toBe(line)
          rest = found + text.length
        }
      }),
      { numRuns: 300 },
    )
  })
})
