import type { ChangeOf } from './schema.ts'
import { expression, name, names, qualified } from './text.ts'

/** Directive that the script is no transaction, because concurrent statements must not be in one. */
const withoutTransaction = '-- basalt: no transaction'

export function createIndex(change: ChangeOf<'create_index'>): string[] {
  const isConcurrent = change.isConcurrent === true
  const keys = change.keys.map((key, index) => expression(key, `change.keys.${index}`))
  const statement = [
    'create',
    ...(change.isUnique === true ? ['unique'] : []),
    'index',
    ...(isConcurrent ? ['concurrently'] : []),
    ...(change.index === undefined ? [] : [name(change.index)]),
    `on ${qualified(change)}`,
    ...(change.method === undefined || change.method === 'btree' ? [] : [`using ${change.method}`]),
    `(${keys.join(', ')})`,
    ...(change.include === undefined || change.include.length === 0
      ? []
      : [`include (${names(change.include)})`]),
    ...(change.where === undefined ? [] : [`where ${expression(change.where, 'change.where')}`]),
  ].join(' ')
  return [isConcurrent ? `${withoutTransaction}\n${statement}` : statement]
}

export function dropIndex({ isConcurrent, ...change }: ChangeOf<'drop_index'>): string[] {
  const index = qualified(change)
  return [
    isConcurrent === true ? `${withoutTransaction}\ndrop index concurrently ${index}` : `drop index ${index}`,
  ]
}
