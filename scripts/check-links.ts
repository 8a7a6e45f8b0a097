/**
 * Checks the links of the documents, for `npm run check`: files and anchors in Markdown, addresses below `/docs` in the
 * sources, and the navigation of the site. It needs no generator.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { groups } from './docs/contents.ts'
import { findLinkFaults, findSourceFaults } from './docs/link-faults.ts'

const root = join(import.meta.dirname, '..')
const isOwn = (name: string) =>
  !/(^|\/)(node_modules|dist)(\/|$)|^(docs-site|packages\/server\/docs)\//.test(name)
const list = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: (name) => !isOwn(name) })
    .filter(isOwn)
    .sort()

const documents = new Map(list('**/*.md').map((name) => [name, readFileSync(join(root, name), 'utf8')]))
const exists = (path: string) => existsSync(join(root, path))

const guides = [...documents.keys()]
  .filter((name) => dirname(name) === 'docs/guides')
  .map((name) => relative('docs/guides', name).replace(/\.md$/, ''))
const listed = groups.flatMap((group) => group.guides)
const faults = [
  ...findLinkFaults(documents, exists),
  ...list('packages/*/src/**/*.{ts,tsx}').flatMap((name) =>
    findSourceFaults(name, readFileSync(join(root, name), 'utf8'), documents),
  ),
  ...guides
    .filter((name) => listed.filter((each) => each === name).length !== 1)
    .map((name) => `docs/guides/${name}.md: not exactly once in the navigation (scripts/docs/contents.ts)`),
  ...listed
    .filter((name) => !guides.includes(name))
    .map((name) => `scripts/docs/contents.ts: no guide ${name}`),
]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
else console.log(`links of ${documents.size} documents lead somewhere`)
