import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { requireTable, requireWriteScope, tokenRequired } from '../../../../http/access/grants.ts'
import { AppError } from '../../../../lib/errors.ts'
import { privilegesOf, requireRelation, requireWritable } from '../../collections/index.ts'
import type { Action } from '../evaluation/stages.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { type Gate, gate } from './gate.ts'

/** Runs the checks of the data API itself. Each either throws or lets the request pass. */
export function gatesOfTable(
  catalog: Catalog,
  { scope, label }: ExaminedCaller,
  relation: Relation,
  action: Action,
): Gate[] {
  const { collection } = relation
  const reader = scope.kind
  const isWrite = action !== 'select'
  return [
    ...(scope.kind === 'caller' && scope.grant !== undefined
      ? [
          ...(isWrite ? [check('scope', 'the scope permits writing', () => requireWriteScope(scope))] : []),
          check('tables of the grant', `the grant names ${collection}, or all tables`, () =>
            requireTable(scope, collection),
          ),
        ]
      : []),
    check('exposed', `${collection} is ${isWrite ? 'a table of the API' : 'in the API'}`, () => {
      // The routes admit requests without a token in the same way.
      if (reader === 'anonymous' && !privilegesOf(relation, reader)[action]) throw tokenRequired()
      ;(isWrite ? requireWritable : requireRelation)(catalog, collection, reader)
    }),
    privilege(relation, reader, action, label),
    ...(action === 'select' ? [hiddenColumns(relation, reader)] : []),
    gate('row-level security', true, describeSecurity(relation)),
  ]
}

function describeSecurity({ kind, rlsEnabled }: Relation): string {
  if (kind === 'view') {
    return 'a view has no policies of its own: those of its tables apply to its owner, or with security_invoker to the caller'
  }
  if (kind === 'materialized_view' || kind === 'foreign_table')
    return `a ${kind.replace('_', ' ')} has no policies`
  return rlsEnabled
    ? 'row-level security is on: policies decide about each row'
    : 'row-level security is off: policies are not evaluated, and every row passes'
}

function check(name: string, sentence: string, require: () => unknown): Gate {
  try {
    require()
    return gate(name, true, sentence)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return gate(name, false, `${error.status} ${error.message}`, error)
  }
}

const roleOf = { caller: 'basalt_authenticated', anonymous: 'basalt_anonymous' } as const

function privilege(relation: Relation, reader: keyof typeof roleOf, action: Action, label: string): Gate {
  const role = roleOf[reader]
  const has = privilegesOf(relation, reader)
  // Every write returns the record, and finds it by its key.
  const needed = action === 'select' || action === 'delete' ? [action] : [action, 'select' as const]
  const missing = [...new Set<keyof typeof has>(['select', ...needed])].filter((each) => !has[each])
  const statement = `grant ${missing.join(', ')} on ${relation.schema}.${relation.name} to ${role}`
  return gate(
    'grant',
    missing.length === 0,
    missing.length === 0
      ? `${role}, the role of ${label}, has the privilege`
      : `${role}, the role of ${label}, lacks a privilege: ${statement}`,
  )
}

function hiddenColumns(relation: Relation, reader: keyof typeof roleOf): Gate {
  const hidden = relation.columns.filter(({ callersMaySelect, anonymousMaySelect }) =>
    reader === 'caller' ? !callersMaySelect : !anonymousMaySelect,
  )
  const names = hidden.slice(0, 20).map(({ name }) => name)
  return gate(
    'columns',
    true,
    hidden.length === 0
      ? 'no column is withheld'
      : `${hidden.length} of ${relation.columns.length} columns are withheld by grants: ${names.join(', ')}`,
  )
}
