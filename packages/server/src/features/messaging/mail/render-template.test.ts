import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readHtml, structureOf } from '../../../../test/read-html.ts'
import { AppError } from '../../../lib/errors.ts'
import { builtInTemplates } from './built-in-templates.ts'
import { parseTemplate } from './parse-template.ts'
import { renderTemplate, type Variables } from './render-template.ts'

function render(subjectTemplate: string, htmlTemplate: string, variables: Variables = {}) {
  return renderTemplate(parseTemplate({ subjectTemplate, htmlTemplate }), variables)
}

function html(htmlTemplate: string, variables: Variables = {}): string {
  return render('s', htmlTemplate, variables).html
}

/** Returns kind and message of the error. */
function refusal(work: () => unknown): [string, string] | undefined {
  try {
    work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [error.kind, error.message]
  }
  return undefined
}

describe('mail template placeholders', () => {
  test('are filled in at every position', () => {
    expect(
      render(
        '{{.A}}, {{ .B }}{{.A}}',
        '<p title="{{.A}}">{{\t.B\n}}</p><a href="https://x.example/?q={{.A}}">{{.Größe_2}}</a>',
        { A: 'one', B: 'two', Größe_2: 'three', unused: 'four' },
      ),
    ).toEqual({
      subject: 'one, twoone',
      html: '<p title="one">two</p><a href="https://x.example/?q=one">three</a>',
      text: 'two\n\nthree https://x.example/?q=one',
    })
  })

  test('are listed once each', () => {
    const { variables } = parseTemplate({ subjectTemplate: '{{.B}}{{.A}}', htmlTemplate: '{{.A}} {{.C}}' })
    expect(variables).toEqual(['B', 'A', 'C'])
  })

  test('are not filled in within values', () => {
    expect(render('{{.A}}', '{{.A}}', { A: '{{.B}}', B: 'no' })).toMatchObject({
      subject: '{{.B}}',
      html: '{{.B}}',
    })
  })

  test('leave other braces unchanged', () => {
    const css = '<style>@media print{a{color:red}}</style>{ } }} {x} {'
    expect(html(css)).toBe(css)
  })

  test.each([
    ['{{.Name', '{{.Name'],
    ['{{.Name}', '{{.Name}'],
    ['{{Name}}', '{{Name}}'],
    ['{{}}', '{{}}'],
    ['{{.}}', '{{.}}'],
    ['{{. Name}}', '{{. Name}}'],
    ['{{.a.b}}', '{{.a.b}}'],
    ['{{.1a}}', '{{.1a}}'],
    ['{{.a-b}}', '{{.a-b}}'],
    ['{{{.Name}}}', '{{{.Name}}}'],
    ['{{if .Name}}x{{end}}', '{{if .Name}}x{{end}}'],
    ['{{range .Names}}{{end}}', '{{range .Names}}{{en'],
    ['{{- .Name -}}', '{{- .Name -}}'],
    ['{{.Name | html}}', '{{.Name | html}}'],
    ['{{/* comment */}}', '{{/* comment */}}'],
    ['{{"{{"}}', '{{"{{"}}'],
    ['{{', '{{'],
  ])('cannot be written %s', (text, found) => {
    const problem = `expected a placeholder such as {{.Name}} at character 4, found ${JSON.stringify(found)}`
    expect(refusal(() => parseTemplate({ subjectTemplate: `ab ${text}`, htmlTemplate: 'x' }))).toEqual([
      'template_parse_error',
      `template parse error: subject: ${problem}`,
    ])
    expect(refusal(() => parseTemplate({ subjectTemplate: 'x', htmlTemplate: `ab ${text}` }))).toEqual([
      'template_parse_error',
      `template parse error: html: ${problem}`,
    ])
  })

  test.each(['Name', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'named %s need a value',
    (name) => {
      const problem = ['template_render_error', `template render error: no value for {{.${name}}}`]
      expect(refusal(() => render(`{{.${name}}}`, 'x'))).toEqual(problem)
      expect(refusal(() => html(`<p>{{.${name}}}</p>`, { Other: 'x' }))).toEqual(problem)
    },
  )

  test('may be empty', () => {
    expect(render('[{{.A}}]', '<p title="{{.A}}">{{.A}}</p>', { A: '' })).toEqual({
      subject: '[]',
      html: '<p title=""></p>',
      text: '',
    })
  })
})

describe('mail template subject', () => {
  test('is plain text in one line', () => {
    const { subject } = render(' {{.A}}:\r\n {{.B}} ', 'x', {
      A: '<b>Tom & "Jerry"</b>',
      B: 'x\r\nBcc: bob@example.com\u2028\u0000\u0085y',
    })
    expect(subject).toBe('<b>Tom & "Jerry"</b>:  x Bcc: bob@example.com y')
  })

  test('never has a line break or control character', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab \r\n\t\0\u001b\u0085\u2028\u2029\ud800é😀') })
    fc.assert(
      fc.property(text, text, (written, value) => {
        const { subject } = render(`${written.toWellFormed().replaceAll('\0', '')}{{.A}}`, 'x', { A: value })
        expect(subject).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
        expect(subject.isWellFormed()).toBe(true)
      }),
    )
  })
})

describe('mail template values in HTML', () => {
  const hostile = `<script>alert("1")</script> & 'x' \`=\t{{.A}}`

  test('are escaped as text', () => {
    expect(html('<p>{{.A}}</p>', { A: `<b> & "x" 'y'` })).toBe(
      '<p>&lt;b&gt; &amp; &#34;x&#34; &#39;y&#39;</p>',
    )
  })

  test('keep links intact', () => {
    const link = 'https://x.example/auth/verify?token=a%20b+c&next=%2F%3Fq%3D1#ü'
    const { html, text } = render('s', '<a class="b" href="{{.A}}">Go</a>', { A: link })
    expect(readHtml(html).elements).toEqual([{ name: 'a', attributes: { class: 'b', href: link } }])
    expect(text).toBe(`Go ${link}`)
  })

  test.each([
    ['text', '<p id="p">{{.A}}</p><i></i>'],
    ['text before a tag', '{{.A}}<b></b>'],
    ['double quotes', '<a href="{{.A}}" id="x">t</a><i></i>'],
    ['single quotes', "<a title='{{.A}}' id='x'>t</a>"],
    ['quotes after an equals sign with blanks', '<a title = "{{.A}}">t</a>'],
    ['no quotes', '<a title={{.A}} id=x>t</a>'],
    ['no quotes at the end', '<a title={{.A}}>t</a>'],
    ['the middle of no quotes', '<a title=a{{.A}}b{{.A}} id=x>t</a>'],
    ['a comment', '<!-- {{.A}} --><b>x</b>'],
    ['a comment for some readers', '<!--[if mso]><v:rect href="{{.A}}"><![endif]--><b>x</b>'],
    ['the title', '<title>{{.A}}</title><b>x</b>'],
    ['an upper-case tag', '<A HREF="{{.A}}">t</A>'],
    ['after a stray sign', '<p>1 < 2 {{.A}} >= "</p><b>x</b>'],
    ['after a script', '<script>if (a<b) "</p>"</script><a title="{{.A}}">t</a>'],
    ['after a style sheet', '<style>a{content:"<"}</style><a title="{{.A}}">t</a>'],
    ['after a doctype and a comment', '<!doctype html><!-- a > "b --><a title="{{.A}}">t</a>'],
    ['after a comment that ends at once', '<!--><a title="{{.A}}">t</a>'],
    ['after an attribute without a value', '<input disabled title="{{.A}}"><b>x</b>'],
    ['after an end tag with blanks', '<p></p ><a title="{{.A}}">t</a>'],
  ])('cannot leave %s', (_where, template) => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc
        .array(
          fc.constantFrom(
            ...['<', '>', '"', "'", '`', '=', ' ', '/', '&', '-->', '\n', 'a', ';', '</a>', '#'],
          ),
          {
            minLength: 1,
          },
        )
        .map((pieces) => pieces.join('')),
      fc.constant(hostile),
    )
    const expected = structureOf(readHtml(html(template, { A: 'x' })))
    fc.assert(
      fc.property(value, (input) => {
        const reading = readHtml(html(template, { A: input }))
        expect(structureOf(reading)).toEqual(expected)
        const harmless = readHtml(html(template, { A: 'x' }))
        reading.elements.forEach(({ attributes }, index) => {
          const before = Object.entries(harmless.elements[index]?.attributes ?? {})
          for (const [name, written] of before) {
            if (/x/.test(written) && name !== 'id') {
              expect(attributes[name]).toBe(written.replaceAll('x', () => input))
            }
          }
        })
      }),
    )
  })

  test.each([
    '<p {{.A}}>',
    '<{{.A}}>',
    '</{{.A}}>',
    '<p{{.A}}>',
    '<p title{{.A}}="x">',
    '<p title="x"{{.A}}>',
    '<script>{{.A}}</script>',
    '<SCRIPT type="x">{{.A}}</SCRIPT>',
    '<script></scrip>{{.A}}</script>',
    '<style>a{color:{{.A}}}</style>',
    '<a onclick="go({{.A}})">',
    '<a ONCLICK="go({{.A}})">',
    '<!doctype {{.A}}>',
  ])('are rejected in %s', (template) => {
    expect(refusal(() => parseTemplate({ subjectTemplate: 's', htmlTemplate: template }))).toEqual([
      'template_parse_error',
      'template parse error: html: {{.A}} may stand in text or in the value of an attribute, not in a tag, a script or a style sheet',
    ])
  })

  test.each([
    'javascript:alert(1)',
    ' JaVaScript:alert(1)',
    'java\nscript:x',
    '\u0001vbscript:x',
    'data:text/html,x',
  ])('cannot make a link to %j', (value) => {
    const problem = [
      'template_render_error',
      'template render error: the value of {{.A}} is no address to link to',
    ]
    const links = ['<a href="{{.A}}">', "<img SRC=' {{.A}}'>", '<a href={{.A}}>', '<a href="{{.E}}{{.A}}">']
    for (const template of links) {
      expect(refusal(() => html(template, { A: value, E: '' }))).toEqual(problem)
    }
    expect(
      refusal(() => html('<a title="{{.A}}" href="/?q={{.A}}">{{.A}}</a>', { A: value })),
    ).toBeUndefined()
  })

  test.each(['https://x.example', '/path', '#', 'shop://open', 'mailto:a@b.co', 'data:image/png;base64,AA'])(
    'can make a link to %s',
    (value) => {
      expect(readHtml(html('<a href="{{.A}}">', { A: value })).elements[0]?.attributes).toEqual({
        href: value,
      })
    },
  )

  test('need quotes when they are empty, because they would otherwise capture the next attribute', () => {
    expect(refusal(() => html('<a title={{.A}} id=x>', { A: '' }))).toEqual([
      'template_render_error',
      'template render error: {{.A}} is empty: put quotes around it',
    ])
  })

  test('lose characters that HTML cannot carry', () => {
    expect(html('{{.A}}', { A: 'a\0b\u001bc\ud800d\u0085e\tf\n' })).toBe('abc\ufffdde\tf\n')
  })
})

describe('mail text part', () => {
  test('has the text of the HTML', () => {
    const { text } = render(
      's',
      `<html><head><title>no</title><style>p{}</style></head><body>
       <h1>Hello &amp; welcome, {{.A}}</h1><img src="https://x.example/logo.png" alt="no">
       <p>One<br>two   three</p><p><a href="https://x.example/">https://x.example/</a></p>
       <ul><li>first</li><li><a href="https://x.example/2">second</a></li></ul></body></html>`,
      { A: '<Alice>' },
    )
    expect(text).toBe(
      'Hello & welcome, <Alice>\n\nOne\ntwo three\n\nhttps://x.example/\n\n * first\n * second https://x.example/2',
    )
  })
})

describe('mail template limits', () => {
  const tooLarge = (problem: string) => ['template_too_large', `template exceeds size limit: ${problem}`]
  const parse = (subjectTemplate: string, htmlTemplate: string) =>
    parseTemplate({ subjectTemplate, htmlTemplate })

  test.each(['x', 'ä', '😀'])('count characters such as %s', (character) => {
    expect(refusal(() => parse(character.repeat(1000), character.repeat(256_000)))).toBeUndefined()
    expect(refusal(() => parse(character.repeat(1001), 'x'))).toEqual(
      tooLarge('subject exceeds 1000 characters'),
    )
    expect(refusal(() => parse('x', character.repeat(256_001)))).toEqual(
      tooLarge('html exceeds 256000 characters'),
    )
  })

  test('apply to tags and to the rendered template', () => {
    expect(refusal(() => parse('x', '<br>'.repeat(10_001)))).toEqual(tooLarge('html exceeds 10000 tags'))
    expect(refusal(() => render('{{.A}}{{.A}}', 'x', { A: 'x'.repeat(501) }))).toEqual([
      'template_render_error',
      'template render error: the subject would exceed 1000 characters',
    ])
    expect(refusal(() => html('{{.A}}'.repeat(40_000), { A: '&'.repeat(1_000_000) }))).toEqual([
      'template_render_error',
      'template render error: the html would exceed 1000000 characters',
    ])
  })

  test.each(['\0', '\ud800'])('reject %j, which the database cannot store', (text) => {
    expect(refusal(() => parse(text, 'x'))).toEqual([
      'template_parse_error',
      'template parse error: subject: not valid Unicode text',
    ])
    expect(refusal(() => parse('x', text))?.[1]).toBe('template parse error: html: not valid Unicode text')
  })

  /** Parsing that takes the square of this many characters would not end before the test does. */
  test.each([
    '{',
    '{{',
    '{{ ',
    '{{.A}}',
    '{{.a',
    '}}',
    '<',
    '<a ',
    '<!--',
    '<!-',
    '-->',
    '<b>',
    '</i>',
    '<p>',
    '<table><tr><td>',
    '<ul><li>',
    '<a href="',
    '<a href=x>',
    '<script></scrip',
    '&amp',
    ' ',
    '\n',
  ])('keep a template of many %j fast', (piece) => {
    const htmlTemplate = piece.repeat(256_000 / piece.length)
    refusal(() => html(htmlTemplate, { A: 'x' }))
    // The maximum number of accepted tags of this kind.
    const tags = Math.max(1, piece.split('<').length - 1)
    refusal(() => html(piece.repeat(Math.floor(10_000 / tags)), { A: 'x' }))
    refusal(() => html(`${'<b>'.repeat(5000)}${piece.repeat(Math.floor(5000 / tags))}`, { A: 'x' }))
  })
})

describe('built-in mail templates', () => {
  const values = {
    AppName: 'Tom & <Jerry>',
    ActionURL: 'https://x.example/auth/verify?a=1&token=abc',
    Code: '123456',
  }

  test('have their keys and variables', () => {
    expect(Array.from(builtInTemplates, ([key, { variables }]) => [key, variables])).toEqual([
      ['auth.password_reset', ['AppName', 'ActionURL']],
      ['auth.email_verification', ['AppName', 'ActionURL']],
      ['auth.magic_link', ['AppName', 'ActionURL']],
      ['auth.invitation', ['AppName', 'ActionURL']],
      ['auth.mfa_email_enroll', ['AppName', 'Code']],
      ['auth.mfa_email_challenge', ['AppName', 'Code']],
    ])
  })

  test.each([...builtInTemplates])('%s needs exactly its variables and shows them all', (_key, template) => {
    expect([...parseTemplate(template).variables].sort()).toEqual([...template.variables].sort())
    const mail = render(template.subjectTemplate, template.htmlTemplate, values)
    const secret = template.variables.includes('Code') ? values.Code : values.ActionURL
    expect(mail.subject).toContain('Tom & <Jerry>')
    // A subject shows on locked screens.
    expect(mail.subject).not.toContain(secret)
    expect(mail.text).toContain('Tom & <Jerry>')
    expect(mail.text.split(/\s/)).toContain(secret)
  })

  test.each([...builtInTemplates])('%s fetches nothing and can be read aloud', (_key, template) => {
    const { elements } = readHtml(html(template.htmlTemplate, values))
    const names = elements.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['html', 'title', 'h1', 'p']))
    expect(
      names.filter((name) => /^(img|script|link|iframe|style|video|audio|object|form)$/.test(name)),
    ).toEqual([])
    expect(elements.find(({ name }) => name === 'html')?.attributes).toEqual({ lang: 'en' })
    for (const { attributes } of elements) {
      expect(attributes.style ?? '').not.toMatch(/url\(|@import/)
      expect(attributes).not.toHaveProperty('src')
      if (attributes.href !== undefined) expect(attributes.href).toBe(values.ActionURL)
    }
  })
})
