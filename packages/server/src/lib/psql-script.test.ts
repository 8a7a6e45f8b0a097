import { describe, expect, test } from 'vitest'
import { splitPsqlScript } from './psql-script.ts'

describe('psql scripts', () => {
  test('are split at the rows of COPY and at commands of psql', () => {
    const script = [
      '\\restrict abc',
      "select 'x; \\. copy t from stdin;';",
      'COPY public.t (a, "from stdin") FROM stdin;',
      "1\tit's; \\\\.",
      '\\N\t\\n--',
      '\\.',
      '',
      "create function f() returns text language sql as $$ select '\\restrict'; $$;",
      'copy t to stdout;',
      '\\unrestrict abc',
      '',
    ].join('\n')
    expect(splitPsqlScript(script).map(({ start, ...part }) => part)).toEqual([
      { kind: 'command', name: '\\restrict' },
      { kind: 'sql', text: "select 'x; \\. copy t from stdin;';\n" },
      {
        kind: 'copy',
        command: 'COPY public.t (a, "from stdin") FROM stdin;',
        rows: "1\tit's; \\\\.\n\\N\t\\n--\n",
      },
      { kind: 'sql', text: expect.stringMatching(/^create function[\s\S]*copy t to stdout;\n$/) },
      { kind: 'command', name: '\\unrestrict' },
    ])
  })

  test('are one part without either, wherever quotes end', () => {
    const script = "select 1; select 'never closed; \\connect x"
    expect(splitPsqlScript(script)).toEqual([{ kind: 'sql', text: script, start: 0 }])
    expect(splitPsqlScript('-- nothing\n')).toEqual([{ kind: 'sql', text: '-- nothing\n', start: 0 }])
    expect(splitPsqlScript('copy t from stdin;')).toEqual([
      { kind: 'copy', command: 'copy t from stdin;', rows: '', start: 0 },
    ])
  })
})
