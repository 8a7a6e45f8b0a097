import type { Catalog } from '../../../database/catalog/model.ts'
import { type Call, type Statement, statement } from '../../../database/connection/message.ts'
import { render, Slot, type Sql } from '../../../database/sql.ts'
import { Lru } from '../../../lib/lru.ts'

/** Maximum number of statements cached by version and text, so that each is hashed for its name only once. */
const statementLimit = 5000
/** Maximum number of requests cached per catalog snapshot. */
const requestLimit = 2000
/** Maximum length of a request that is cached. */
const requestLengthLimit = 1000

/** Statement with slots for the values that differ between its calls. */
export interface Template {
  readonly statement: Statement
  readonly values: readonly (string | null | Slot)[]
}

/** Values for the slots of a template, by slot name. */
export type SlotValues = Readonly<Record<string, string>>

export function fill({ statement, values }: Template, slots: SlotValues): Call {
  return {
    statement,
    values: values.map((value) => (value instanceof Slot ? (slots[value.name] ?? null) : value)),
  }
}

/** Cache that turns fragments into calls and keeps the plans of repeated requests. */
export class StatementCache {
  readonly #statements = new Lru<string, Statement>(statementLimit)
  /**
   * Plans per catalog snapshot. A new snapshot makes all of them useless; the old one is collected with its entries.
   */
  readonly #requests = new WeakMap<Catalog, Lru<string, unknown>>()

  call(fragment: Sql): Call {
    return this.fill(fragment, {})
  }

  /** Returns the call of a fragment with these values in its slots. */
  fill(fragment: Sql, slots: SlotValues): Call {
    return fill(this.template(fragment), slots)
  }

  template(fragment: Sql): Template {
    const { text, values, version, relations } = render(fragment)
    const key = `${version} ${text}`
    let known = this.#statements.get(key)
    if (known === undefined) {
      known = statement(text, version, relations)
      this.#statements.set(key, known)
    }
    // Collections bind only texts and slots.
    return { statement: known, values: values as Template['values'] }
  }

  /** Returns the cached result of `make`, which must depend only on the snapshot and the key. */
  remember<Value>(catalog: Catalog, key: string, make: () => Value): Value {
    if (key.length > requestLengthLimit) return make()
    let requests = this.#requests.get(catalog)
    if (requests === undefined) {
      requests = new Lru(requestLimit)
      this.#requests.set(catalog, requests)
    }
    // The key determines the type of its value.
    const known = requests.get(key) as Value | undefined
    if (known !== undefined) return known
    const made = make()
    requests.set(key, made)
    return made
  }
}
