import { type Sql, sql } from '../../../../database/sql.ts'
import type { SearchPlan } from '../plan/search.ts'
import { searchedColumns } from '../plan/search-vector.ts'
import { compileConfig, compileDocument, compileQuery, compileVector } from './search.ts'

/*
 * ts_headline promises no safe HTML (PostgreSQL, Text Search, Highlighting Results): the text is escaped before it, so
 * that its markup is the only one there is.
 */

/** Around what was found. */
const marks = `StartSel=<b>,StopSel=</b>`

/** An excerpt of the row of `alias`; where nothing matches by its stem, as in a fuzzy search, all of it. */
export function compileHighlight(search: SearchPlan, alias: string): Sql {
  const columns = searchedColumns(search.vector)
  const escaped = compileEscaped(compileDocument(columns, alias))
  const query = compileQuery(search)
  return sql`
    case when ${compileVector(search.vector, alias)} @@ ${query}
      then ts_headline(${compileConfig(search.vector)}, ${escaped}, ${query}, ${sql.literal(marks)})
      else ${escaped}
    end`
}

/** `{"title": {"value": "…", "matchLevel": "full"}}`: each column whole, with all that was found in it marked. */
export function compileHighlightResult(search: SearchPlan, alias: string): Sql {
  const query = compileQuery(search)
  const results = searchedColumns(search.vector).map((column) => {
    const escaped = compileEscaped(compileDocument([column], alias))
    const marked = sql`ts_headline(${compileConfig(search.vector)}, ${escaped}, ${query}, ${sql.literal(`${marks},HighlightAll=true`)})`
    return sql`(${sql.literal(column.name)}, ${marked})`
  })
  // An excluded word stands in no column of a record that was found, unless by similarity.
  return sql`(
    select json_object_agg(h.name, json_build_object(
      'value', h.value, 'matchLevel', case when h.value like '%<b>%' then 'full' else 'none' end))
    from (values ${sql.join(results)}) h (name, value))`
}

function compileEscaped(text: Sql): Sql {
  return sql`replace(replace(replace(${text}, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')`
}
