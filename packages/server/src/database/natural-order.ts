import { type Sql, sql } from './sql.ts'

/** Sorts by name in natural order: `shop_2` before `shop_10`. */
export function sortNaturally<Item>(items: Iterable<Item>, nameOf: (item: Item) => string): Item[] {
  return Array.from(items, (item) => ({ item, name: nameOf(item), key: keyOf(nameOf(item)) }))
    .sort((one, other) => compareText(one.key, other.key) || compareText(one.name, other.name))
    .map(({ item }) => item)
}

/** Builds the same order in SQL, for ORDER BY and for comparing rows. @param name an expression */
export function naturally(name: Sql): Sql {
  const padded = sql`regexp_replace(${name}::text, '([0-9]+)', '00000000000000000000\\1', 'g')`
  const key = sql`regexp_replace(${padded}, '[0-9]*([0-9]{20})', '\\1', 'g')`
  return sql`${key} collate "C", ${name}::text collate "C"`
}

/** Returns the sort key, in which every number has its last 20 digits. */
const keyOf = (name: string) => name.replaceAll(/[0-9]+/g, (number) => number.slice(-20).padStart(20, '0'))

function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
