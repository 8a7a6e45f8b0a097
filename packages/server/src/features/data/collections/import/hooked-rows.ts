import type { Column, Relation } from '../../../../database/catalog/model.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'
import type { Caller } from '../access/caller.ts'
import { jsonNullMember } from '../compile/json-value.ts'
import { readOutcome } from '../hooks/pass-hooks.ts'
import type { ChangeOutcome } from '../hooks/write-hooks.ts'
import type { Imports } from './imports.ts'
import type { ImportOptions } from './parameters.ts'
import type { RowFault } from './result.ts'
import { rewriteSpool, type Spool, type SpooledRow } from './spool.ts'

/** Rows that are passed to the hooks together. Each call has the time limit of a function. */
const partLimits = { rows: 100, size: 2 * 1024 * 1024 }

/** Rows of an import, with their caller. */
interface ImportedRows {
  readonly caller: Caller
  readonly relation: Relation
  readonly spool: Spool
}

/**
 * Passes the rows of an import to the hooks of their table, in the transaction of the import. A row that a hook refuses has a
 * fault.
 *
 * @returns the rows that the hooks leave; undefined if the table has none
 */
export async function spoolAfterHooks(
  { hooks }: Imports,
  transaction: Pick<UserTransaction, 'run'>,
  { caller, relation, spool }: ImportedRows,
  { onConflict }: Pick<ImportOptions, 'onConflict'>,
): Promise<Spool | undefined> {
  const isUpsert = onConflict === 'update'
  const set = hooks.current()
  const found = set?.find(relation, isUpsert ? ['create', 'update'] : ['create'])
  if (set === undefined || found === undefined) return undefined
  const operation = isUpsert ? 'upsert' : 'create'
  return await set.within(caller, transaction, (hooked) =>
    rewriteSpool(spool, partLimits, async (rows) => {
      const changes = rows.map(
        ({ json, columns }) => ({ operation, values: valuesOf(json, columns) }) as const,
      )
      const outcomes = await hooked.call(relation, changes, true)
      return rows.map((row, position) => afterHooks(relation, row, outcomes[position]))
    }),
  )
}

function afterHooks(
  relation: Relation,
  row: SpooledRow,
  outcome: ChangeOutcome | undefined,
): SpooledRow | RowFault {
  if (outcome?.refusal !== undefined) return { row: row.row, message: outcome.refusal.message }
  if (outcome?.values === undefined) return row
  const { json, columns } = readOutcome(relation, row, outcome, 'create')
  const jsonNulls = sliceObject(row.json).get(jsonNullMember)
  if (jsonNulls === undefined || relation.column.has(jsonNullMember)) return { row: row.row, json, columns }
  const separator = json.trim() === '{}' ? '' : ','
  const end = json.lastIndexOf('}')
  const withNulls = `${json.slice(0, end)}${separator}${JSON.stringify(jsonNullMember)}:${jsonNulls}}`
  return { row: row.row, json: withNulls, columns }
}

/** Returns the values of a row as an API client sends them. Fields of CSV are texts. */
function valuesOf(json: string, columns: readonly Column[]): string {
  const texts = sliceObject(json)
  const members = columns.map((column) => {
    const text = texts.get(column.name) ?? 'null'
    return `${JSON.stringify(column.name)}:${text.startsWith('"') ? valueOfText(column, text) : text}`
  })
  return `{${members.join()}}`
}

const numbers: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'numeric', 'float4', 'float8'])

function valueOfText({ type }: Column, json: string): string {
  const { base, element } = type
  if (element !== undefined) return json
  const text = json.slice(1, -1)
  if (numbers.has(base) && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return text
  if (base === 'bool' && /^(t|true)$/i.test(text)) return 'true'
  if (base === 'bool' && /^(f|false)$/i.test(text)) return 'false'
  return json
}
