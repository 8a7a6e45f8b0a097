import { type Exception, exceptions } from './exceptions.ts'
import type { Extract, Finding, Medium, Paragraph } from './prose.ts'
import { checkDocstring, checkFirstWord } from './rules/docstrings.ts'
import { checkName } from './rules/names.ts'
import { checkClauses, checkLength } from './rules/sentences.ts'
import { checkTitle } from './rules/titles.ts'
import { checkVocabulary } from './rules/vocabulary.ts'
import { splitSentences } from './sentences.ts'

/** Media of whole sentences. */
const prose = new Set<Medium>(['docstring', 'comment', 'page', 'text'])

/** Lists the violations in a file that no exception names. */
export function checkExtract(extract: Extract, allowed: readonly Exception[] = exceptions): Finding[] {
  return listFindings(extract).filter((finding) => !allowed.some((exception) => covers(exception, finding)))
}

/** Lists all violations in a file, in the order of their lines. */
export function listFindings(extract: Extract): Finding[] {
  const findings = [...extract.paragraphs.flatMap((paragraph) => [...checkParagraph(paragraph)])]
  for (const name of extract.names) {
    const problem = checkName(name)
    if (problem === undefined) continue
    findings.push({
      file: name.file,
      line: name.line,
      rule: `name-${name.kind}`,
      subject: name.name,
      problem,
    })
  }
  return findings.toSorted((one, other) => one.line - other.line)
}

function* checkParagraph(paragraph: Paragraph): Generator<Finding> {
  const { file, medium, subject } = paragraph
  for (const [index, sentence] of splitSentences(paragraph).entries()) {
    const finding = (rule: string, problem: string): Finding => ({
      file,
      line: sentence.line,
      rule,
      subject: sentence.text,
      problem,
    })
    if (index === 0 && subject !== undefined) {
      const violation = checkDocstring(sentence, subject)
      if (violation !== undefined) yield finding(violation.rule, violation.problem)
    }
    if (index === 0 && subject === undefined && (medium === 'comment' || medium === 'text')) {
      const problem = checkFirstWord(sentence)
      if (problem !== undefined) yield finding('first-word', problem)
    }
    if (prose.has(medium)) {
      const length = checkLength(sentence)
      if (length !== undefined) yield finding('sentence-length', length)
    }
    if (prose.has(medium) || medium === 'suite' || medium === 'test') {
      const clauses = checkClauses(sentence)
      if (clauses !== undefined) yield finding('relative-clauses', clauses)
    }
    if (index === 0 && (medium === 'suite' || medium === 'test')) {
      const title = checkTitle(sentence.plain, medium)
      if (title !== undefined) yield finding(`title-${medium}`, title)
    }
    for (const problem of checkVocabulary(sentence.plain, file)) yield finding('vocabulary', problem)
  }
}

/** Returns true if the exception names the finding. */
export function covers(exception: Exception, finding: Finding): boolean {
  return (
    exception.file === finding.file &&
    finding.subject.startsWith(exception.subject) &&
    (exception.rule === undefined || exception.rule === finding.rule)
  )
}
