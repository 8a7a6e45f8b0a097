import { describe, expect, test } from 'vitest'
import { findLinkFaults, findSourceFaults } from './link-faults.ts'
import { listLinks } from './markdown.ts'
import { moveScriptsOf } from './move-scripts.ts'

describe('link check', () => {
  const guide = `# Guide

## First part

See [there](other.md#second-part), [here](#first-part) and
[two
lines](../README.md). \`[code](no.md)\` and [\`name\`](other.md) ![picture](images/a.webp)

\`\`\`md
[fenced](no.md)
# No heading
\`\`\`

<!-- [comment](no.md) -->
`

  test('reads links and pictures, but none in code or comments', () => {
    expect(listLinks(guide)).toEqual([
      'other.md#second-part',
      '#first-part',
      '../README.md',
      'other.md',
      'images/a.webp',
    ])
  })

  test('names each link without a file or without its anchor', () => {
    const documents = new Map([
      [
        'docs/guide.md',
        `${guide}\n[a](#no-heading) [b](gone.md) [c](other.md#gone) [d](https://example.com/#x)`,
      ],
      ['docs/other.md', '# Other\n\n## `Second` part\n'],
      ['README.md', '# Readme\n'],
    ])
    const exists = (path: string) => documents.has(path) || path === 'docs/images/a.webp'
    expect(findLinkFaults(documents, exists)).toEqual([
      'docs/guide.md: no anchor for #no-heading',
      'docs/guide.md: no file for gone.md',
      'docs/guide.md: no anchor for other.md#gone',
    ])
  })

  test('names each address in a source that the site does not have', () => {
    const documents = new Map([['docs/guides/backup.md', '# Backup\n\n## Restore\n']])
    const source = "['/docs/guides/backup#restore', '/docs/guides/gone', '/docs/guides/backup#gone']"
    expect(findSourceFaults('a.ts', source, documents)).toEqual([
      'a.ts: no guide for /docs/guides/gone',
      'a.ts: no anchor for /docs/guides/backup#gone',
    ])
  })
})

describe('inline scripts of the site', () => {
  test('become files, and neither text in attributes nor scripts with an address do', () => {
    const scripts: string[] = []
    const html = moveScriptsOf(
      '<script>one()</script><button data-code="<script>shown()</script>"></button><script type="module" src="/a.js"></script><script aria-hidden="true">\n two() </script>',
      (script) => `/${scripts.push(script)}.js`,
    )
    expect(html).toBe(
      '<script src="/1.js"></script><button data-code="<script>shown()</script>"></button><script type="module" src="/a.js"></script><script src="/2.js"></script>',
    )
    expect(scripts).toEqual(['one()', 'two()'])
  })
})
