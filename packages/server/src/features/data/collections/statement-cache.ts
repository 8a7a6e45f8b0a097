import type { Catalog } from '../../../database/catalog/model.ts'
import { type Call, type Statement, statement } from '../../../database/connection/message.ts'
import { render, Slot, type Sql } from '../../../database/sql.ts'
import { Lru } from '../../../lib/lru.ts'

/** Statements known by version and text, so that hashing one for its name happens once. */
const statementLimit = 5000
/** Requests remembered per snapshot of the catalog. */
const requestLimit = 2000
/** Longer requests are not worth remembering. */
const requestLengthLimit = 1000

/** A statement with room for what differs between its calls. */
export interface Template {
  readonly statement: Statement
  readonly values: readonly (string | null | Slot)[]
}

/** What goes into the slots of a template, by their names. */
export type SlotValues = Readonly<Record<string, string>>

export function fill({ statement, values }: Template, slots: SlotValues): Call {
  return {
    statement,
    values: values.map((value) => (value instanceof Slot ? (slots[value.name] ?? null) : value)),
  }
}

/** Turns fragments into calls, and remembers the work done for requests that come again. */
export class StatementCache {
  readonly #statements = new Lru<string, Statement>(statementLimit)
  /** A new snapshot makes everything remembered worthless; the old one is collected with its entries. */
  readonly #requests = new WeakMap<Catalog, Lru<string, unknown>>()

  call(fragment: Sql): Call {
    return fill(this.template(fragment), {})
  }

  template(fragment: Sql): Template {
    const { text, values, version, relations } = render(fragment)
    const key = `${version} ${text}`
    let known = this.#statements.get(key)
    if (known === undefined) {
      known = statement(text, version, relations)
      this.#statements.set(key, known)
    }
    // Collections bind nothing but texts and slots.
    return { statement: known, values: values as Template['values'] }
  }

  /** What `make` returns depends on nothing but the snapshot and the key. */
  remember<Value>(catalog: Catalog, key: string, make: () => Value): Value {
    if (key.length > requestLengthLimit) return make()
    let requests = this.#requests.get(catalog)
    if (requests === undefined) {
      requests = new Lru(requestLimit)
      this.#requests.set(catalog, requests)
    }
    // The key says what kind of value it stands for.
    const known = requests.get(key) as Value | undefined
    if (known !== undefined) return known
    const made = make()
    requests.set(key, made)
    return made
  }
}
