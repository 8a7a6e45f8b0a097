import { quoteIdentifier } from '../sql.ts'
import type { SessionCodeRow } from './queries/session-code.ts'

const writes = /\b(insert|update|delete|merge|truncate|call|copy)\b/i

/** Operator code by which a statement may leave state in its session. */
export class SessionCode {
  /** True if some function may prepare statements by SQL. */
  readonly mayPrepare: boolean
  readonly #isEverywhere: boolean
  readonly #readNames: readonly RegExp[]
  readonly #writeNames: readonly RegExp[]

  constructor(rows: readonly SessionCodeRow[]) {
    const named = (...kinds: readonly SessionCodeRow['kind'][]) =>
      rows.flatMap(({ kind, schema, name }) =>
        kinds.includes(kind) && schema !== null && name !== null ? [patternOf(schema, name)] : [],
      )
    this.mayPrepare = rows.some(({ kind }) => kind === 'prepares')
    this.#isEverywhere = rows.some(({ kind }) => kind === 'everywhere')
    this.#readNames = named('read', 'function')
    this.#writeNames = named('write', 'function')
  }

  /** True if there is no such code. */
  get isHarmless(): boolean {
    return !this.#isEverywhere && this.#readNames.length === 0 && this.#writeNames.length === 0
  }

  /** Returns true if the statement may leave state in the session, judged by its names. */
  mayChangeSession(text: string): boolean {
    if (this.#isEverywhere) return true
    const names = writes.test(text) ? this.#writeNames : this.#readNames
    return names.some((name) => name.test(text))
  }
}

/** Returns a pattern of the name in our statements: quoted, or plain. */
function patternOf(schema: string, name: string): RegExp {
  const plain = `${schema}.${name}`.replace(/[^\w.]/g, '\\$&').replaceAll('.', '\\.')
  const quoted = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`.replace(/[^\w]/g, '\\$&')
  return new RegExp(`${quoted}|(?<![\\w"$])${plain}(?![\\w"$])`)
}
