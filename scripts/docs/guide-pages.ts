import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceLinks, splitTitle, summarize } from './markdown.ts'
import type { SitePage } from './page.ts'

/** Makes the pages of the guides, the configuration reference and the decisions from the Markdown in `docs/`. */
export function makeGuidePages(root: string): SitePage[] {
  const guides = listMarkdown(join(root, 'docs/guides')).map((name) =>
    makePage(root, `docs/guides/${name}.md`, `guides/${name}`),
  )
  const decisions = listMarkdown(join(root, 'docs/decisions'))
    .filter((name) => name !== 'README')
    .map((name) => ({
      ...makePage(root, `docs/decisions/${name}.md`, `decisions/${name}`),
      settings: ['prev: false', 'next: false'],
    }))
  return [
    { ...makePage(root, 'README.md', 'start'), title: 'Start in five minutes' },
    ...guides,
    makePage(root, 'docs/generated/configuration.md', 'reference/configuration'),
    ...decisions,
    makeDecisionList(root, decisions),
  ]
}

function listMarkdown(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    .sort()
}

function makePage(root: string, source: string, path: string): SitePage {
  const markdown = readFileSync(join(root, source), 'utf8')
  const { title, body } = splitTitle(markdown)
  const used = source === 'README.md' ? withoutSections(body, repositorySections) : body
  const withTitles = used.replaceAll(/<!-- file: (\S+) -->\n+( *```\w+)/g, '$2 title="$1"')
  const shown = withTitles.replaceAll(/<!--[\s\S]*?-->\n*/g, '')
  return {
    path,
    title,
    description: summarize(shown),
    body: replaceLinks(removeLinks(source, shown), (target) => requireTarget(source, target)),
  }
}

/** Sections of the README for readers of the repository. */
const repositorySections = ['Guides', 'Development', 'Performance']

function withoutSections(body: string, titles: readonly string[]): string {
  return body
    .split(/^(?=## )/m)
    .filter((section) => !titles.some((title) => section.startsWith(`## ${title}\n`)))
    .join('')
}

/** Replaces links into the repository by their texts. */
function removeLinks(source: string, markdown: string): string {
  return markdown.replaceAll(/(?<!!)\[([^[\]`]+)\]\(([^()\s]+)\)/g, (link, text, target) =>
    siteTarget(source, target) === undefined ? text : link,
  )
}

function requireTarget(source: string, target: string): string {
  const address = siteTarget(source, target)
  if (address === undefined) throw new Error(`${source}: ${target} has no page on the site`)
  return address
}

/** Returns the address on the site of a link in a document; undefined for other files of the repository. */
function siteTarget(source: string, target: string): string | undefined {
  if (/^(https?:|mailto:|#)/.test(target)) return target
  const [path = '', fragment] = target.split('#', 2)
  const file = join(source, '..', path)
  const anchor = fragment === undefined ? '' : `#${fragment}`
  const [, folder, name] = /^docs\/(guides|decisions)\/([\w-]+)\.md$/.exec(file) ?? []
  if (name === 'README') return '/docs/decisions'
  if (name !== undefined) return `/docs/${folder}/${name}${anchor}`
  if (file.startsWith('docs/guides/images/')) return `./${path}`
  const known = knownFiles[file]
  return known === undefined ? undefined : known + anchor
}

const knownFiles: Readonly<Record<string, string>> = {
  'README.md': '/docs/start',
  'docs/generated/errors.md': '/docs/errors',
  'docs/generated/configuration.md': '/docs/reference/configuration',
  'docs/generated/openapi.json': '/docs/reference/api',
  'docs/decisions': '/docs/decisions',
}

function makeDecisionList(root: string, decisions: readonly SitePage[]): SitePage {
  const { title, body } = splitTitle(readFileSync(join(root, 'docs/decisions/README.md'), 'utf8'))
  const items = decisions.map((page) => `- [${page.title}](/docs/${page.path})`)
  return {
    path: 'decisions/index',
    title,
    description: summarize(body),
    body: `${body}\n\n${items.join('\n')}`,
  }
}
