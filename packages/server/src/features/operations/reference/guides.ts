import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Marked } from 'marked'
import { createAnchors } from '../../../lib/heading-anchors.ts'
import { createPage, escapeHtml, type Page } from '../../../lib/page.ts'
import { packageFolder } from '../../../package.ts'

export const guidesPath = '/api/docs/guides'

export interface Guide {
  readonly name: string
  readonly title: string
  readonly markdown: string
}

/** Folders of the guides in the published package, and in a clone. */
const folders = ['.', '../..'].map((root) => join(packageFolder, root, 'docs/guides/'))

const openFolder = () => folders.find((candidate) => existsSync(candidate))

/** Reads the guides of this version, and the configuration reference. */
export function readGuides(configuration: string): readonly Guide[] {
  const folder = openFolder()
  const files = folder === undefined ? [] : readdirSync(folder).filter((file) => file.endsWith('.md'))
  const guides = files.sort().map((file) => ({
    name: file.slice(0, -'.md'.length),
    markdown: readFileSync(`${folder}${file}`, 'utf8'),
  }))
  return [...guides, { name: 'configuration', markdown: configuration }].map((guide) => ({
    ...guide,
    title: /^# (.+)$/m.exec(guide.markdown)?.[1] ?? guide.name,
  }))
}

/** Lists the files of the pictures in guides, by their names. */
export function listPictures(): ReadonlyMap<string, string> {
  const folder = `${openFolder() ?? ''}images/`
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.webp')) : []
  return new Map(names.map((name) => [name, `${folder}${name}`]))
}

export function createGuideList(guides: readonly Guide[]): Page {
  const items = guides.map(
    ({ name, title, markdown }) =>
      `<li><a href="${guidesPath}/${name}"><b>${escapeHtml(title)}</b> <span>${listHeadings(markdown)}</span></a></li>`,
  )
  const first = guides.find(({ name }) => name === 'tutorial')
  const begin = first && ` Begin with <a href="${guidesPath}/${first.name}">${escapeHtml(first.title)}</a>.`
  return createPage({
    title: 'Guides',
    body: `<h1>Guides</h1>
<p class="soft">As they were written for this version of the server.${begin ?? ''}</p>
<ul class="cards">
${items.join('\n')}
<li><a href="/api/docs/errors"><b>Errors</b> <span>Every kind of error, and what to do about it.</span></a></li>
</ul>`,
  })
}

export function createGuidePage({ title, markdown }: Guide, guides: readonly Guide[]): Page {
  const names = new Set(guides.map(({ name }) => name))
  const anchorOf = createAnchors()
  const marked = new Marked({
    renderer: {
      // The anchors match the Markdown's own links.
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = resolveLink(href, names)
        return target === undefined ? text : `<a href="${escapeHtml(target)}">${text}</a>`
      },
      table(token) {
        const row = (cells: typeof token.header, tag: 'th' | 'td') =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>\n`
        const isNamed = token.header.some(({ text }) => text !== '')
        const head = isNamed ? `<thead>${row(token.header, 'th')}</thead>` : ''
        return `<div class="scroll"><table>${head}<tbody>${token.rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>\n`
      },
    },
  })
  // The call is synchronous, because there are no asynchronous extensions.
  return createPage({ title, body: String(marked.parse(markdown)) })
}

/** Returns the target of a link on this server. Returns undefined for a link into the repository. */
function resolveLink(href: string, guides: ReadonlySet<string>): string | undefined {
  if (/^(https?:\/\/|#)/.test(href)) return href
  const [, name = '', fragment = ''] = /([^/#]+)\.md(#.*)?$/.exec(href) ?? []
  if (name === 'errors') return `/api/docs/errors${fragment}`
  return guides.has(name) ? `${guidesPath}/${name}${fragment}` : undefined
}

/** Returns the headings of a guide as a summary. */
function listHeadings(markdown: string): string {
  const headings = [...markdown.matchAll(/^## (.+)$/gm)].map(([, text = '']) => text.replaceAll('`', ''))
  return escapeHtml(headings.join(' · '))
}
