import { type ListQuery, parseOrder } from './list-query.ts'
import { parseNames } from './names.ts'
import { parseFlag, readParameters } from './parameters.ts'
import { type RowsQuery, readRowsQuery, rowsParameters } from './rows.ts'

export type ExportFormat = 'csv' | 'json' | 'ndjson'

/** Export request as written. Names are not resolved yet. */
export interface ExportQuery extends RowsQuery, Pick<ListQuery, 'distance' | 'sort'> {
  readonly format: ExportFormat
  /** Columns to export; undefined for every column. */
  readonly fields: readonly string[] | undefined
  /** True if a spreadsheet will open the file. Spreadsheets interpret some texts as formulas. */
  readonly isForSpreadsheet: boolean
}

/** @throws AppError naming the parameter and what was expected */
export function parseExportQuery(queryString: string, format: ExportFormat): ExportQuery {
  const known = [...rowsParameters, 'sort', 'fields', ...(format === 'csv' ? ['spreadsheet'] : [])]
  const parameters = readParameters(queryString, known)
  const fields = parseNames(parameters.fields ?? '', 'fields')
  return {
    ...readRowsQuery(parameters),
    format,
    ...parseOrder(parameters.sort),
    fields: fields.length === 0 ? undefined : fields,
    isForSpreadsheet: parseFlag('spreadsheet', parameters.spreadsheet),
  }
}
