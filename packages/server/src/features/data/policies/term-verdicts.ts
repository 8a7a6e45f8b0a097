import type { BooleanTest, Term } from './caller-terms.ts'

/** JSON texts of a row's columns, by name. */
export type RowMembers = ReadonlyMap<string, string>

/**
 * Returns the row's ids in the columns by which the term decides about callers.
 *
 * @returns undefined when a column is missing
 */
export function idsNamedBy(term: Term, row: RowMembers): ReadonlySet<string> | undefined {
  const ids = new Set<string>()
  for (const { kind, column } of comparisonsOf(term)) {
    const text = row.get(column)
    if (text === undefined) return undefined
    const value: unknown = JSON.parse(text)
    const listed =
      kind === 'hasCaller' && Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value]
    for (const id of listed) if (typeof id === 'string') ids.add(id)
  }
  return ids
}

/** Returns the columns that the values of the term depend on. */
export function columnsOfTerm(term: Term): readonly string[] {
  if (term.kind === 'and' || term.kind === 'or') return term.terms.flatMap(columnsOfTerm)
  if (term.kind === 'not' || term.kind === 'test') return columnsOfTerm(term.term)
  return 'column' in term ? [term.column] : []
}

function comparisonsOf(term: Term): readonly Extract<Term, { readonly kind: 'isCaller' | 'hasCaller' }>[] {
  switch (term.kind) {
    case 'and':
    case 'or':
      return term.terms.flatMap(comparisonsOf)
    case 'not':
    case 'test':
      return comparisonsOf(term.term)
    case 'isCaller':
    case 'hasCaller':
      return [term]
    default:
      return []
  }
}

/** Possible values of a condition, of SQL's three; empty for none. */
interface Values {
  readonly mayBeTrue: boolean
  readonly mayBeFalse: boolean
  readonly mayBeNull: boolean
}

const isTrue: Values = { mayBeTrue: true, mayBeFalse: false, mayBeNull: false }
const isFalse: Values = { mayBeTrue: false, mayBeFalse: true, mayBeNull: false }
const isNull: Values = { mayBeTrue: false, mayBeFalse: false, mayBeNull: true }
const isAnything: Values = { mayBeTrue: true, mayBeFalse: true, mayBeNull: true }

/**
 * Returns whether the term can neither be true of the row nor fail for a caller with a token whom the row does not
 * name. Then PostgreSQL need not evaluate it.
 */
export function excludesUnnamed(term: Term, row: RowMembers): boolean {
  return !mayFail(term) && !valuesOf(term, row).mayBeTrue
}

function mayFail(term: Term): boolean {
  if (term.kind === 'and' || term.kind === 'or') return term.terms.some(mayFail)
  return term.kind === 'not' || term.kind === 'test' ? mayFail(term.term) : term.kind === 'fallible'
}

function valuesOf(term: Term, row: RowMembers): Values {
  switch (term.kind) {
    case 'and':
      return conjunctionOf(term.terms.map((each) => valuesOf(each, row)))
    case 'or':
      // De Morgan's laws hold for three values.
      return negationOf(conjunctionOf(term.terms.map((each) => negationOf(valuesOf(each, row)))))
    case 'not':
      return negationOf(valuesOf(term.term, row))
    case 'test':
      return testOf(valuesOf(term.term, row), term.test)
    case 'constant':
      return term.value === null ? isNull : term.value ? isTrue : isFalse
    case 'column':
      return valuesOfText(row.get(term.column))
    case 'isNull': {
      const text = row.get(term.column)
      return text === undefined ? isAnything : text === 'null' ? isTrue : isFalse
    }
    case 'isCaller':
      return row.get(term.column) === 'null' ? isNull : isFalse
    case 'hasCaller':
      // A comparison with an array that holds a null gives null.
      return { mayBeTrue: false, mayBeFalse: true, mayBeNull: true }
    default:
      return isAnything
  }
}

function valuesOfText(text: string | undefined): Values {
  if (text === 'true') return isTrue
  if (text === 'false') return isFalse
  return text === 'null' ? isNull : isAnything
}

function negationOf({ mayBeTrue, mayBeFalse, mayBeNull }: Values): Values {
  return { mayBeTrue: mayBeFalse, mayBeFalse: mayBeTrue, mayBeNull }
}

function conjunctionOf(all: readonly Values[]): Values {
  return {
    mayBeTrue: all.every(({ mayBeTrue }) => mayBeTrue),
    mayBeFalse: all.some(({ mayBeFalse }) => mayBeFalse),
    mayBeNull:
      all.some(({ mayBeNull }) => mayBeNull) &&
      all.every(({ mayBeTrue, mayBeNull }) => mayBeTrue || mayBeNull),
  }
}

function testOf({ mayBeTrue, mayBeFalse, mayBeNull }: Values, test: BooleanTest): Values {
  const [passes, fails] = {
    true: [mayBeTrue, mayBeFalse || mayBeNull],
    'not true': [mayBeFalse || mayBeNull, mayBeTrue],
    false: [mayBeFalse, mayBeTrue || mayBeNull],
    'not false': [mayBeTrue || mayBeNull, mayBeFalse],
    unknown: [mayBeNull, mayBeTrue || mayBeFalse],
    'not unknown': [mayBeTrue || mayBeFalse, mayBeNull],
  }[test]
  return { mayBeTrue: passes === true, mayBeFalse: fails === true, mayBeNull: false }
}
