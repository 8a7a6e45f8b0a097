/**
 * Checks the language of comments, pages, test titles and descriptions: `node scripts/language/lint.ts [--summary] [PATH…]`.
 * Without a path it checks the whole repository. CONTRIBUTING.md has the rules; `exceptions.ts` has the sentences that may
 * break them.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { covers, listFindings } from './check.ts'
import { type Exception, exceptions } from './exceptions.ts'
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
const used = new Set<Exception>()
for (const file of listFiles(root, paths)) {
  const extract = read(file)
  extracts.push(extract)
  for (const finding of listFindings(extract)) {
    const exception = exceptions.find((each) => covers(each, finding))
    if (exception === undefined) findings.push(finding)
    else used.add(exception)
  }
}
if (paths.length === 0) {
  for (const { file, subject } of exceptions.filter((each) => !used.has(each))) {
    findings.push({
      file,
      line: 1,
      rule: 'unused-exception',
      subject,
      problem: 'an exception without a finding',
    })
  }
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
