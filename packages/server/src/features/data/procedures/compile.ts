import type { FunctionResult } from '../../../database/catalog/model.ts'
import { leaveChanges } from '../../../database/change-log.ts'
import { Slot, type Sql, sql } from '../../../database/sql.ts'
import {
  compileBodyTypes,
  compileBodyValue,
  compileConditions,
  compileItem,
  compileJsonValue,
  compileOrder,
  compileSelectList,
  type ListPlan,
  planWholeRecord,
} from '../collections/index.ts'
import type { Notification } from './notification.ts'
import type { Target } from './resolve.ts'
import { relationOfResult } from './result.ts'

/** Slot of the statements below, for the arguments as JSON. */
export const argumentsSlot = 'arguments'

const slot = sql`${new Slot(argumentsSlot)}::json`
/** Alias of the rows of a set. */
const row = 't'
const rowsAsJson = sql`coalesce(json_agg(r.*), '[]')`

function leaveRows(notification: Notification | undefined, rows: Sql): Sql {
  if (notification === undefined) return sql.empty
  return sql`, ${leaveChanges(rows)}`
}

/**
 * Compiles the call of a single result. Returns one row: the result as JSON, or for a void function the value that
 * PostgreSQL returns.
 */
export function compileSingle(target: Target, notification: Notification | undefined): Sql {
  const { result } = target.called
  const value = sql`s.v`
  // The subquery is kept separate: its value is referenced several times, and a function must be called once.
  const call = sql`select ${compileCall(target)} as v ${compileSource(target)} offset 0`
  // The value is referenced although it says nothing: PostgreSQL leaves out an unused call of a stable function.
  if (result.kind === 'void') return sql`select ${value} from (${call}) s`
  const shown = compileResult(result, value)
  if (notification === undefined) return sql`select ${shown} from (${call}) s`
  const rows = sql`case when r.v is null then '[]' else json_build_array(r.v) end`
  return sql`
    select r.v ${leaveRows(notification, rows)}
    from (select ${shown} as v from (${call}) s offset 0) r`
}

/** Compiles the call of a set. Returns one row: a JSON array. */
export function compileSet(target: Target, notification: Notification | undefined): Sql {
  const plan = planWholeRecord(relationOfResult(target.called), 'unrestricted')
  return sql`
    select ${rowsAsJson} ${leaveRows(notification, rowsAsJson)}
    from (select ${compileSelectList(plan, row)} ${compileRows(target)}) r`
}

/**
 * Compiles the call of a page. Returns one row: the page as a JSON array, and the number of all matching rows unless
 * it is skipped.
 */
export function compilePage(target: Target, list: ListPlan, notification: Notification | undefined): Sql {
  const { rows, order, perPage, paging } = list
  const where = sql`where ${compileConditions(rows, row)}`
  const page = paging.kind === 'offset' ? paging.page : 1
  const counts = paging.kind === 'offset' && paging.total !== 'none'
  return sql`
    with called as (select ${sql.id(row)}.* ${compileRows(target)})
    select ${rowsAsJson}, ${counts ? sql`(select count(*) from called ${sql.id(row)} ${where})` : sql`null`}
      ${leaveRows(notification, rowsAsJson)}
    from (
      select ${compileItem(list, row)}
      from (
        select ${sql.id(row)}.* from called ${sql.id(row)} ${where} ${compileOrder(order, row)}
        limit ${sql.integer(perPage)} offset ${String((page - 1) * perPage)}
      ) ${sql.id(row)}
    ) r`
}

/** Compiles `from … t`, where `t` are the rows of a set. Rows keep the column names of the present definition. */
export function compileRows(target: Target): Sql {
  const { result } = target.called
  const names = result.kind === 'scalar' ? sql` (${sql.id(result.name)})` : sql.empty
  const rows = sql`lateral ${compileCall(target)} as ${sql.id(row)}${names}`
  return target.passed.length === 0 ? sql`from ${rows}` : sql`${compileSource(target)} cross join ${rows}`
}

/** Compiles the source of the arguments. */
export function compileSource({ passed, json = slot }: Target): Sql {
  return passed.length === 0
    ? sql.empty
    : sql`from json_to_record(${json}) as b (${compileBodyTypes(passed)})`
}

/** Compiles the conversion of each argument by itself, as in the call. The result is discarded. */
export function compileArgumentChecks({ called, passed, takesBody, json = slot }: Target): readonly Sql[] {
  const [first] = called.parameters
  if (takesBody && first !== undefined) return [sql`select ${json}::${sql.type(first.type.name)}`]
  return passed.map(
    (parameter) => sql`${sql.version(called.version)}
      select ${compileBodyValue(parameter, 'b')}::${sql.type(parameter.type.name)}
      from json_to_record(${json}) as b (${compileBodyTypes([parameter])})`,
  )
}

/** Compiles the call with named arguments. An absent argument gets its default. */
export function compileCall({ called, passed, takesBody, json = slot }: Target): Sql {
  const name = sql`${sql.version(called.version)}${sql.id(called.schema, called.name)}`
  const [first] = called.parameters
  if (takesBody && first !== undefined) return sql`${name}(${json}::${sql.type(first.type.name)})`
  const values = called.parameters.flatMap((parameter) => {
    const isPassed = passed.includes(parameter)
    const type = sql.type(parameter.type.name)
    if (parameter.isVariadic) {
      // A variadic argument can be named only as an array (PostgreSQL, Calling Functions).
      const { variadicDefault } = parameter
      const absent = variadicDefault === undefined ? sql`'{}'` : sql.expression(variadicDefault)
      const value = isPassed ? compileBodyValue(parameter, 'b') : absent
      return [sql`variadic ${sql.id(parameter.name)} => ${value}::${type}`]
    }
    if (isPassed) return [sql`${sql.id(parameter.name)} => ${compileBodyValue(parameter, 'b')}::${type}`]
    return parameter.hasDefault ? [] : [sql`${sql.id(parameter.name)} => null::${type}`]
  })
  return sql`${name}(${sql.join(values)})`
}

function compileResult(result: FunctionResult, value: Sql): Sql {
  const shown =
    result.kind === 'scalar'
      ? compileJsonValue(result.type, value, 'v')
      : result.kind === 'row'
        ? compileJsonValue(
            { element: undefined, attributes: result.columns, base: '', spatialSchema: undefined },
            value,
            'v',
          )
        : undefined
  return shown ?? sql`to_json(${value})`
}
