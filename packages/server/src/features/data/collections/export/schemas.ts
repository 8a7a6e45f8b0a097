import { responses } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { recordQuery, rowsQuery, sort } from '../query-schemas.ts'
import { common, record, tableParams } from '../schemas.ts'

const exportQuery = {
  ...rowsQuery,
  sort,
  fields: recordQuery.fields,
}

export const exportSchemas = {
  csv: {
    ...common,
    summary: 'Export records as CSV',
    params: tableParams,
    querystring: Type.Object({
      ...exportQuery,
      spreadsheet: Type.Optional(
        Type.Boolean({ description: '`true` keeps spreadsheets from taking texts for formulas.' }),
      ),
    }),
    response: responses({ 200: Type.String({ description: 'RFC 4180, with a header.' }) }),
  },
  json: {
    ...common,
    summary: 'Export records as a JSON array',
    params: tableParams,
    querystring: Type.Object(exportQuery),
    response: responses({ 200: Type.Array(record) }),
  },
  ndjson: {
    ...common,
    summary: 'Export records as lines of JSON',
    params: tableParams,
    querystring: Type.Object(exportQuery),
    response: responses({ 200: Type.String({ description: 'One JSON object per line.' }) }),
  },
}
