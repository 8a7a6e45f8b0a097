import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listErrors } from '../../packages/server/src/error-catalog.ts'
import { type ApiDocument, listApiPages, makeApiPages } from './api-pages.ts'
import { groups } from './contents.ts'
import { makeErrorPages } from './error-pages.ts'
import { makeFrontPage } from './front-page.ts'
import { makeGuidePages } from './guide-pages.ts'
import { printPage, type SitePage } from './page.ts'

/** Writes the pages and the navigation that the generator reads. @returns the pages */
export function writeSiteSources(root: string, site: string): readonly SitePage[] {
  const document: ApiDocument = JSON.parse(readFileSync(join(root, 'docs/generated/openapi.json'), 'utf8'))
  const pages = [
    makeFrontPage(),
    ...makeGuidePages(root),
    ...makeApiPages(document),
    ...makeErrorPages(listErrors()),
  ]
  const folder = join(site, 'src/content/docs')
  rmSync(folder, { recursive: true, force: true })
  for (const page of pages) {
    const path = join(folder, `${page.path}.md`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, printPage(page))
  }
  cpSync(join(root, 'docs/guides/images'), join(folder, 'guides/images'), { recursive: true })
  writeFileSync(join(site, 'src/sidebar.json'), `${JSON.stringify(makeNavigation(document), undefined, 2)}\n`)
  return pages
}

/** Returns the navigation in the generator's form. */
function makeNavigation(document: ApiDocument): object[] {
  return [
    ...groups.map(({ label, guides }, index) => ({
      label,
      items: [...(index === 0 ? ['start'] : []), ...guides.map((name) => `guides/${name}`)],
    })),
    {
      label: 'Reference',
      items: [
        { label: 'Configuration', slug: 'reference/configuration' },
        { label: 'Errors', slug: 'errors' },
        { label: 'Decisions', slug: 'decisions' },
      ],
    },
    {
      label: 'API',
      collapsed: true,
      items: [{ label: 'All operations', slug: 'reference/api' }, ...listApiPages(document)],
    },
  ]
}
