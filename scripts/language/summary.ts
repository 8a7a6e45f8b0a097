import type { Extract, Finding } from './prose.ts'

const mostWords = 40

/** Prints the number of findings by rule, and of docstrings and test titles by their first word. */
export function summarize(extracts: readonly Extract[], findings: readonly Finding[]): string {
  const paragraphs = extracts.flatMap((extract) => extract.paragraphs)
  const docstrings = paragraphs.filter(({ subject }) => subject !== undefined)
  const tests = paragraphs.filter(({ medium }) => medium === 'test')
  const word = ({ lines }: { lines: readonly { text: string }[] }) =>
    lines[0]?.text.trim().split(/[\s,:;.]/)[0] ?? ''
  return [
    `${extracts.length} files, ${docstrings.length} docstrings, ${tests.length} titles of tests, ${findings.length} findings`,
    print('Findings by rule', count(findings.map(({ rule }) => rule))),
    print(
      'Vocabulary',
      count(findings.filter(({ rule }) => rule === 'vocabulary').map(({ problem }) => problem.toLowerCase())),
    ),
    print('Findings by folder', count(findings.map(({ file }) => folderOf(file)))),
    print('Docstrings by first word', count(docstrings.map(word))),
    print('Titles of tests by first word', count(tests.map(word))),
  ].join('\n')
}

function folderOf(file: string): string {
  const parts = file.split('/')
  const depth = parts[0] === 'packages' ? (parts[3] === 'features' ? 6 : 4) : 1
  return parts.slice(0, Math.min(depth, parts.length - 1)).join('/') || '.'
}

function count(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, one], [, other]) => other - one)
}

function print(title: string, counts: readonly [string, number][]): string {
  const lines = counts.slice(0, mostWords).map(([name, number]) => `${String(number).padStart(6)}  ${name}`)
  return `\n${title}\n${lines.join('\n')}${counts.length > mostWords ? `\n        … ${counts.length - mostWords} more` : ''}\n`
}
