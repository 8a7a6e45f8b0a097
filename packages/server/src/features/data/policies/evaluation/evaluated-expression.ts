import type { Relation } from '../../../../database/catalog/model.ts'
import { type Expression, type Sql, sql } from '../../../../database/sql.ts'
import type { Rehearsal } from '../rehearsal/rehearsal.ts'
import { evaluateTexts, type RowInput, type Text, toVerdict } from './evaluate.ts'
import { flatten, type Part, splitExpression } from './expression-tree.ts'
import type { Verdict } from './stages.ts'

/** Part of an expression with its value for a row. */
export interface ValuedPart extends Verdict {
  readonly text: string
  readonly operator: Part['operator']
  readonly terms: readonly ValuedPart[]
  /** Sides of a comparison, cut where they are long. */
  readonly sides: readonly ({ readonly expression: string } & Text)[]
}

/** Maximum number of characters of a compared value. */
const sideLength = 200

/** @param rows of which the first is evaluated */
export async function evaluateParts(
  rehearsal: Rehearsal,
  relation: Relation,
  rows: RowInput,
  expression: Expression,
): Promise<ValuedPart> {
  const whole = splitExpression(expression)
  const parts = flatten(whole)
  const values = await evaluateTexts(rehearsal, relation, rows, [
    ...parts.map(({ text }) => sql`(${piece(text)})::boolean`),
    ...parts.flatMap(({ sides }) =>
      sides.map((side) => sql`left((${piece(side)})::text, ${sql.integer(sideLength)})`),
    ),
  ])
  const none: Text = { message: 'not evaluated', sqlState: '' }
  const first = values.map(([value]) => value ?? none)
  let next = 0
  let nextSide = parts.length
  const build = (part: Part): ValuedPart => {
    const verdict = toVerdict(first[next] ?? none)
    next += 1
    const sides = part.sides.map((side) => {
      const value = first[nextSide] ?? none
      nextSide += 1
      return { expression: side, ...value }
    })
    return { text: part.text, operator: part.operator, ...verdict, sides, terms: part.terms.map(build) }
  }
  return build(whole)
}

/** Returns a piece of PostgreSQL's output, cut at its own parentheses. */
function piece(text: string): Sql {
  return sql.expression(text as Expression)
}
