import { type Sql, sql } from './sql.ts'

/** Returns the condition of a filter; undefined where the filter has no value. */
export function when<Value>(value: Value | undefined, condition: (value: Value) => Sql): Sql | undefined {
  return value === undefined ? undefined : condition(value)
}

/** Returns the conjunction of the defined conditions. */
export function allOf(conditions: readonly (Sql | undefined)[]): Sql {
  return conjunction(conditions) ?? sql`true`
}

/** Returns the conjunction of the defined conditions; undefined if there are none. */
export function conjunction(conditions: readonly (Sql | undefined)[]): Sql | undefined {
  const present = conditions.filter((condition) => condition !== undefined)
  return present.length === 0 ? undefined : sql.join(present, sql` and `)
}
