import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readFrames, realFolder } from './stack.ts'

/** Maximum number of problems in a description, and of characters of each. */
const problemLimit = 10
const lengthLimit = 500
/** Maximum number of characters of a problem that is read. */
const readLimit = 10_000

/**
 * Describes the problems of files in one line: the file, the position and the error of each, without stacks and without the folder
 * of this machine.
 *
 * @param folder of the functions
 */
export function describeProblems(problems: readonly string[], folder: string): string {
  const rest = problems.length - problemLimit
  return problems
    .slice(0, problemLimit)
    .map((problem) => cut(describeProblem(problem.slice(0, readLimit), folder)))
    .concat(rest > 0 ? [`and ${rest} more`] : [])
    .join('; ')
}

function cut(text: string): string {
  return text.length <= lengthLimit ? text : `${text.slice(0, lengthLimit).toWellFormed()} …`
}

function describeProblem(problem: string, folder: string): string {
  const [, file, thrown] = /^([^:\n]+): (.*)$/s.exec(problem) ?? []
  if (file === undefined || thrown === undefined) return withoutFolder(problem, folder)
  // A faulty file that may be CommonJS is named by its path.
  const report = /^\/.*:\d+\n/.test(thrown) ? `at ${thrown}` : thrown
  const [place] = readFrames(report, folder)
  const position = place === undefined || place.file === file ? [file] : [`${file}: ${place.file}`]
  if (place !== undefined) position.push(String(place.line))
  return `${position.join(':')}: ${withoutFolder(readError(report), folder)}`
}

/** Returns the error of a stack. That of a syntax error follows its position and the faulty line. */
function readError(stack: string): string {
  const lines = stack.split('\n').filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
  const first = /^(at \/|file:\/\/)/.test(stack) ? lines.findIndex((line) => /^\w*Error\b/.test(line)) : 0
  return lines.slice(Math.max(0, first)).join(' ')
}

/** Removes the folder around the functions from paths. */
function withoutFolder(text: string, folder: string): string {
  const roots = [dirname(folder), dirname(realFolder(folder))]
  return roots
    .flatMap((root) => [`${pathToFileURL(root).href}/`, `${root}/`])
    .reduce((rest, root) => rest.replaceAll(root, ''), text)
}
