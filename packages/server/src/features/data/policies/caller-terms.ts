import {
  booleanOfConstant,
  type ExpressionNode,
  isNode,
  type NodeValue,
  nodesOf,
  nothing,
  textOfConstant,
} from './stored-expression.ts'

/** Condition of a policy, as far as a row and the caller's id decide it. */
export type Term =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Term[] }
  | { readonly kind: 'not'; readonly term: Term }
  | { readonly kind: 'test'; readonly term: Term; readonly test: BooleanTest }
  | { readonly kind: 'constant'; readonly value: boolean | null }
  /** Term of a boolean column. */
  | { readonly kind: 'column'; readonly column: string }
  | { readonly kind: 'isNull'; readonly column: string }
  /** Term that the caller's id equals the column, or one of its elements. */
  | { readonly kind: 'isCaller' | 'hasCaller'; readonly column: string }
  /** Term of anything else that depends only on the row and the named claims, and cannot fail. */
  | { readonly kind: 'any' }
  /** Term like `any`, but its evaluation may fail. */
  | { readonly kind: 'fallible' }

/** Boolean tests such as `IS TRUE`, in the order of PostgreSQL's BoolTestType. */
export const booleanTests = ['true', 'not true', 'false', 'not false', 'unknown', 'not unknown'] as const
export type BooleanTest = (typeof booleanTests)[number]

/** Claims that have few different values. */
export type SharedClaim = 'aal' | 'isEmailVerified' | 'isAnonymous'

export interface ExpressionColumn {
  readonly name: string
  /** False for a virtual generated column. */
  readonly isStored: boolean
}

/** Facts about a database that are needed to read the expressions of its policies. */
export interface ExpressionFacts {
  /** Columns by number. */
  readonly columns: ReadonlyMap<string, ExpressionColumn>
  /** Unchanged functions of Basalt, by object id. */
  readonly helpers: ReadonlyMap<string, 'userId' | SharedClaim>
  /** Built-in functions and operators that depend only on their arguments, by object id. */
  readonly pureFunctions: ReadonlySet<string>
  readonly pureOperators: ReadonlySet<string>
  /** Predicate for PostgreSQL's own types and enumerations. */
  readonly plainTypes: (oid: string) => boolean
  readonly isDeterministic: (collation: string) => boolean
}

/** Object ids that are the same in every PostgreSQL version (pg_type.dat, pg_operator.dat, pg_proc.dat). */
const types = { bool: '16', text: '25', varchar: '1043', uuid: '2950', uuidArray: '2951', textArray: '1009' }
const operators = { boolEq: '91', textEq: '98', textNe: '531', uuidEq: '2972', uuidNe: '2973' }
const currentSetting = new Set(['2077', '3294'])
/** SubLinkType of a subquery with a single value (primnodes.h). */
const exprSubLink = '4'

const settings: ReadonlyMap<string, SharedClaim> = new Map([
  ['basalt.aal', 'aal'],
  ['basalt.email_verified', 'isEmailVerified'],
  ['basalt.is_anonymous', 'isAnonymous'],
])

/**
 * Nodes whose value follows from the nodes below them. An SQL value, such as `current_user`, is the same for a whole
 * role.
 */
const transparent: ReadonlySet<string> = new Set([
  ...[
    'BOOLEXPR',
    'NULLTEST',
    'BOOLEANTEST',
    'RELABELTYPE',
    'COALESCE',
    'COALESCEEXPR',
    'CASE',
    'CASEEXPR',
    'WHEN',
  ],
  ...[
    'CASEWHEN',
    'CASETESTEXPR',
    'ARRAY',
    'ARRAYEXPR',
    'MINMAX',
    'MINMAXEXPR',
    'COERCEVIAIO',
    'CONST',
    'SQLVALUEFUNCTION',
  ],
])
const withOperator: ReadonlySet<string> = new Set([
  'OPEXPR',
  'DISTINCTEXPR',
  'NULLIFEXPR',
  'SCALARARRAYOPEXPR',
])

/**
 * Reader of a policy's expression. It finds the columns that name callers, the claims that matter, and all other
 * dependencies.
 */
export class TermReader {
  readonly claims = new Set<SharedClaim>()
  /** True if the id of the caller matters. */
  namesCaller = false
  readonly #facts: ExpressionFacts

  constructor(facts: ExpressionFacts) {
    this.#facts = facts
  }

  /**
   * @returns undefined when the expression depends on anything unknown: another function, another table, another
   * claim
   */
  read(value: NodeValue | undefined): Term | undefined {
    if (!isNode(value)) return undefined
    const node = this.#unwrap(value)
    return this.#readLogic(node) ?? this.#readCaller(node) ?? this.#readClaim(node) ?? this.#readOther(node)
  }

  #readLogic(node: ExpressionNode): Term | undefined {
    const { fields, tag } = node
    if (tag === 'CONST' && fields.get('consttype') === types.bool) {
      const value = booleanOfConstant(node)
      return value === undefined ? undefined : { kind: 'constant', value }
    }
    if (tag === 'VAR' && fields.get('vartype') === types.bool) {
      const column = this.#columnOf(node)
      return column === undefined ? undefined : { kind: 'column', column }
    }
    if (tag === 'BOOLEXPR') return this.#readConnective(node)
    if (tag === 'BOOLEANTEST') {
      const term = this.read(fields.get('arg'))
      const test = booleanTests[Number(fields.get('booltesttype'))]
      return term && test && { kind: 'test', term, test }
    }
    if (tag === 'NULLTEST') return this.#readNullTest(node)
    // `published = true`
    if (tag !== 'OPEXPR' || fields.get('opno') !== operators.boolEq) return undefined
    const [left, right] = nodesOf(node, 'args') ?? []
    const constant = right?.tag === 'CONST' ? booleanOfConstant(right) : undefined
    const term = constant === undefined ? undefined : this.read(left)
    if (term === undefined || constant === undefined || !this.#isPure(node)) return undefined
    if (constant === null) return { kind: 'constant', value: null }
    return constant ? term : { kind: 'not', term }
  }

  #readConnective(node: ExpressionNode): Term | undefined {
    const terms = nodesOf(node, 'args')?.map((each) => this.read(each))
    if (terms?.every((term) => term !== undefined) !== true) return undefined
    const kind = node.fields.get('boolop')
    if (kind === 'and' || kind === 'or') return { kind, terms }
    const [term] = terms
    return kind === 'not' && term !== undefined ? { kind, term } : undefined
  }

  #readNullTest({ fields }: ExpressionNode): Term | undefined {
    const arg = fields.get('arg')
    if (!isNode(arg) || fields.get('argisrow') !== 'false') return undefined
    const isNull = fields.get('nulltesttype') === '0'
    const column = arg.tag === 'VAR' ? this.#columnOf(arg) : undefined
    if (column !== undefined) {
      const term: Term = { kind: 'isNull', column }
      return isNull ? term : { kind: 'not', term }
    }
    if (this.#callerIdType(arg) === undefined) return undefined
    this.namesCaller = true
    return { kind: 'constant', value: !isNull }
  }

  /** Reads a column that is compared with the caller's id. */
  #readCaller(node: ExpressionNode): Term | undefined {
    const { fields, tag } = node
    const operator = fields.get('opno')
    const [left, right] = nodesOf(node, 'args') ?? []
    if (left === undefined || right === undefined || !this.#isPure(node)) return undefined
    if (tag === 'SCALARARRAYOPEXPR') {
      const type = this.#callerIdType(left)
      const column = right.tag === 'VAR' ? this.#columnOf(right) : undefined
      const arrayType = right.fields.get('vartype')
      const fits =
        (operator === operators.uuidEq && type === 'uuid' && arrayType === types.uuidArray) ||
        (operator === operators.textEq &&
          type === 'text' &&
          arrayType === types.textArray &&
          this.#comparesBytes(node))
      if (!fits || column === undefined || fields.get('useOr') !== 'true') return undefined
      this.namesCaller = true
      return { kind: 'hasCaller', column }
    }
    if (tag !== 'OPEXPR') return undefined
    const type = this.#callerIdType(right) ?? this.#callerIdType(left)
    const column = this.#comparedColumn(this.#callerIdType(right) === undefined ? right : left, type)
    if (column === undefined) return undefined
    const isEqual = operator === operators.uuidEq || operator === operators.textEq
    const isUnequal = operator === operators.uuidNe || operator === operators.textNe
    const isText = operator === operators.textEq || operator === operators.textNe
    if (!(isEqual || isUnequal) || isText !== (type === 'text')) return undefined
    if (isText && !this.#comparesBytes(node)) return undefined
    this.namesCaller = true
    const term: Term = { kind: 'isCaller', column }
    return isEqual ? term : { kind: 'not', term }
  }

  #comparedColumn(node: ExpressionNode, type: 'uuid' | 'text' | undefined): string | undefined {
    if (node.tag === 'VAR') {
      return type !== undefined && node.fields.get('vartype') === types[type]
        ? this.#columnOf(node)
        : undefined
    }
    const arg = node.fields.get('arg')
    const isVarchar =
      node.tag === 'RELABELTYPE' &&
      node.fields.get('resulttype') === types.text &&
      isNode(arg) &&
      arg.tag === 'VAR' &&
      arg.fields.get('vartype') === types.varchar
    return isVarchar && type === 'text' ? this.#columnOf(arg) : undefined
  }

  /** Reads a claim that callers share with many others, alone or compared with a constant. */
  #readClaim(node: ExpressionNode): Term | undefined {
    const { tag, fields } = node
    if (tag === 'FUNCEXPR') {
      const claim = this.#helperOf(node)
      if (claim === undefined || claim === 'userId' || claim === 'aal') return undefined
      this.claims.add(claim)
      return { kind: 'any' }
    }
    const isComparison =
      tag === 'OPEXPR' &&
      (fields.get('opno') === operators.textEq || fields.get('opno') === operators.textNe) &&
      this.#isPure(node)
    const args = isComparison ? (nodesOf(node, 'args') ?? []).map((each) => this.#unwrap(each)) : []
    const claim = args.find(({ tag: each }) => each === 'FUNCEXPR')
    if (claim === undefined || !args.some((each) => each.tag === 'CONST') || this.#helperOf(claim) !== 'aal')
      return undefined
    this.claims.add('aal')
    return { kind: 'any' }
  }

  #readOther(node: ExpressionNode): Term | undefined {
    return this.#isOfRow(node) ? { kind: 'fallible' } : undefined
  }

  /** Returns whether the value depends only on the row and shared claims. */
  #isOfRow(value: NodeValue): boolean {
    if (Array.isArray(value)) return value.every((each) => this.#isOfRow(each))
    if (!isNode(value)) return true
    const node = this.#unwrap(value)
    const { tag, fields } = node
    if (tag === 'VAR') {
      return this.#columnOf(node) !== undefined && this.#facts.plainTypes(String(fields.get('vartype')))
    }
    if (tag === 'FUNCEXPR') {
      const claim = this.#helperOf(node) ?? settings.get(this.#settingOf(node) ?? '')
      if (claim === 'userId') return false
      if (claim !== undefined) {
        this.claims.add(claim)
        return true
      }
      if (
        fields.get('funcretset') !== 'false' ||
        !this.#facts.pureFunctions.has(String(fields.get('funcid')))
      )
        return false
    } else if (withOperator.has(tag)) {
      if (!this.#isPure(node)) return false
    } else if (!transparent.has(tag) || !this.#areTypesPlain(node)) return false
    return [...fields.values()].every((each) => this.#isOfRow(each))
  }

  #areTypesPlain({ fields }: ExpressionNode): boolean {
    return [
      'consttype',
      'resulttype',
      'casetype',
      'coalescetype',
      'minmaxtype',
      'element_typeid',
      'typeId',
    ].every((field) => {
      const type = fields.get(field)
      return type === undefined || this.#facts.plainTypes(String(type))
    })
  }

  /** Returns whether the operator is one of PostgreSQL's that depends only on its arguments. */
  #isPure({ fields }: ExpressionNode): boolean {
    return this.#facts.pureOperators.has(String(fields.get('opno')))
  }

  #comparesBytes({ fields }: ExpressionNode): boolean {
    return this.#facts.isDeterministic(String(fields.get('inputcollid')))
  }

  /**
   * Returns the type of an expression for the caller's id: a function of Basalt, its setting, or a cast or `nullif`
   * of those.
   */
  #callerIdType(value: NodeValue | undefined): 'uuid' | 'text' | undefined {
    if (!isNode(value)) return undefined
    const node = this.#unwrap(value)
    const { tag, fields } = node
    if (tag === 'FUNCEXPR') {
      if (this.#helperOf(node) === 'userId') return 'uuid'
      return this.#settingOf(node) === 'basalt.user_id' ? 'text' : undefined
    }
    if (tag === 'NULLIFEXPR' && fields.get('opno') === operators.textEq && this.#isPure(node)) {
      const [first, second] = nodesOf(node, 'args') ?? []
      return second?.tag === 'CONST' && textOfConstant(second) === '' && this.#callerIdType(first) === 'text'
        ? 'text'
        : undefined
    }
    if (tag !== 'COERCEVIAIO') return undefined
    const type = this.#callerIdType(fields.get('arg'))
    if (type === 'text' && fields.get('resulttype') === types.uuid) return 'uuid'
    if (type === 'uuid' && fields.get('resulttype') === types.text) return 'text'
    return undefined
  }

  #helperOf({ fields }: ExpressionNode): 'userId' | SharedClaim | undefined {
    return fields.get('args') === nothing ? this.#facts.helpers.get(String(fields.get('funcid'))) : undefined
  }

  /** Returns the setting that a `current_setting` of a constant reads. */
  #settingOf(node: ExpressionNode): string | undefined {
    if (!currentSetting.has(String(node.fields.get('funcid')))) return undefined
    const args = nodesOf(node, 'args')
    if (args?.every(({ tag }) => tag === 'CONST') !== true || args[0] === undefined) return undefined
    return textOfConstant(args[0])
  }

  #columnOf({ fields }: ExpressionNode): string | undefined {
    if (fields.get('varno') !== '1' || fields.get('varlevelsup') !== '0') return undefined
    const column = this.#facts.columns.get(String(fields.get('varattno')))
    return column?.isStored === true ? column.name : undefined
  }

  /** Returns the value inside `(select value)`. A subquery with anything else in it is returned unchanged. */
  #unwrap(node: ExpressionNode): ExpressionNode {
    const query = node.fields.get('subselect')
    if (node.tag !== 'SUBLINK' || node.fields.get('subLinkType') !== exprSubLink || !isNode(query))
      return node
    const targets = nodesOf(query, 'targetList')
    const value = targets?.length === 1 ? targets[0]?.fields.get('expr') : undefined
    const isBare = [...query.fields].every(([name, field]) => isBareField(name, field))
    return isBare && isNode(value) ? this.#unwrap(value) : node
  }
}

/** Returns whether a field of a query has its default value, as in a query with only a target list. */
function isBareField(name: string, value: NodeValue): boolean {
  if (name === 'targetList' || name.startsWith('stmt_')) return true
  if (name === 'commandType') return value === '1'
  if (name === 'canSetTag') return value === 'true'
  if (name === 'jointree')
    return isNode(value) && [...value.fields.values()].every((each) => each === nothing)
  return value === nothing || value === 'false' || value === '0'
}
