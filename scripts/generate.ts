/**
 * Generates docs/generated, the client's kinds of errors and the dashboard's operations: `npm run generate`.
 * With `--check` it only compares, and fails when a file is out of date.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeConfiguration } from '../packages/server/src/configuration.ts'
import { listErrors } from '../packages/server/src/error-catalog.ts'
import {
  administratorRoles,
  holds,
  permissions,
  rights,
} from '../packages/server/src/http/access/permissions.ts'
import { readApiDocument } from './api-document.ts'
import { printOperations } from './print-operations.ts'

const root = join(import.meta.dirname, '..')

const document = await readApiDocument()

const files: Readonly<Record<string, string>> = {
  'docs/generated/configuration.md': note('configuration.ts', describeConfiguration()),
  'docs/generated/errors.md': note('the errors.ts files', describeErrors()),
  'docs/generated/rights.md': note('http/access/permissions.ts', describeRights()),
  'packages/client/src/error-slugs.ts': printErrorSlugs(),
  'docs/generated/openapi.json': `${JSON.stringify(document, undefined, 2)}\n`,
  'packages/dashboard/src/api/operations.ts': printOperations(document),
}

if (process.argv.includes('--check')) {
  const stale = Object.entries(files).filter(([name, text]) => readExisting(name) !== text)
  for (const [name] of stale) console.error(`${name} is not what the code says: npm run generate`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  mkdirSync(join(root, 'docs/generated'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
}

function note(source: string, text: string): string {
  return `<!-- Generated from ${source} by \`npm run generate\`. -->\n\n${text}`
}

function describeRights(): string {
  const rows = permissions.map((permission) => {
    const cells = administratorRoles.map((role) => (holds(role, permission) ? 'yes' : '–'))
    return `| ${rights[permission].covers} | \`${permission}\` | ${cells.join(' | ')} |`
  })
  return `# Rights of administrators

| right | permission | ${administratorRoles.join(' | ')} |
|---|---|${'---|'.repeat(administratorRoles.length)}
${rows.join('\n')}
`
}

function describeErrors(): string {
  const areas = Map.groupBy(listErrors(), ({ area }) => area)
  const tables = [...areas].map(([area, errors]) => {
    const rows = errors.map(
      ({ kind, status, message, help }) =>
        `| \`${kind}\` | ${status} | ${escapeCell(message)} | ${escapeCell(help)} |`,
    )
    return `\n## ${area}\n\n| error | status | message | |\n|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return `# Errors

Every error is \`{code, message, error, doc_url, data?}\`: the HTTP status, a sentence for people, the stable name
below, the address of its page on the server itself (\`/docs/errors/NAME\`), and details where there are any.
${tables.join('')}`
}

function printErrorSlugs(): string {
  const slugs = [...new Set(listErrors().map(({ kind }) => kind))].sort()
  return `// Generated from the errors.ts files by \`npm run generate\`.

/** Slugs of the errors of the server, explained in docs/generated/errors.md. */
export type ErrorSlug =
${slugs.map((slug) => `  | '${slug}'`).join('\n')}
`
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function readExisting(name: string): string | undefined {
  try {
    return readFileSync(join(root, name), 'utf8')
  } catch {
    return undefined
  }
}
