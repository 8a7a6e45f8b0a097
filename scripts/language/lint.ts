/**
 * Checks the language of comments, pages, test titles and descriptions: `node scripts/language/lint.ts [--summary] [PATH…]`.
 * Without a path it checks the whole repository. CONTRIBUTING.md has the rules; `exceptions.ts` has the sentences that may
 * break them.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { checkExtract } from './check.ts'
import { extractComments } from './extract-comments.ts'
import { extractPage } from './extract-page.ts'
import { extractSource } from './extract-source.ts'
import { listFiles } from './files.ts'
import type { Extract, Finding } from './prose.ts'
import { summarize } from './summary.ts'

const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const paths = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith('-'))
  .map((path) => resolve(path))
const root = findRoot(paths[0] ?? process.cwd())

const extracts: Extract[] = []
const findings: Finding[] = []
for (const file of listFiles(root, paths)) {
  const extract = read(file)
  extracts.push(extract)
  findings.push(...checkExtract(extract))
}

if (options.includes('--summary')) {
  process.stdout.write(summarize(extracts, findings))
} else {
  for (const { file, line, rule, subject, problem } of findings) {
    process.stdout.write(`${file}:${line} ${rule}: ${problem}\n    ${subject.slice(0, 240)}\n`)
  }
  if (findings.length > 0) process.stdout.write(`${findings.length} findings\n`)
}
process.exitCode = findings.length === 0 || options.includes('--summary') ? 0 : 1

function read(file: string): Extract {
  const source = readFileSync(join(root, file), 'utf8')
  if (/\.(?:ts|tsx|js)$/.test(file)) return extractSource(file, source)
  if (file.endsWith('.md')) return extractPage(file, source)
  return extractComments(file, source)
}

/** Returns the top of the working tree that a path belongs to. */
function findRoot(path: string): string {
  for (let folder = path; ; folder = dirname(folder)) {
    try {
      return execFileSync('git', ['rev-parse', '--show-toplevel'], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    } catch {
      if (folder === dirname(folder)) throw new Error(`${path} is in no working tree`)
    }
  }
}
