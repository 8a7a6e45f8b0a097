import { type Sql, sql } from '../../../../database/sql.ts'
import type { SearchPlan } from '../plan/search.ts'
import { searchedColumns } from '../plan/search-vector.ts'
import { compileConfig, compileDocument, compileQuery, compileVector } from './search.ts'

/*
 * Highlighting as safe HTML. ts_headline does not guarantee safe HTML (PostgreSQL, Text Search, Highlighting
 * Results). The text is therefore escaped before the call, so that the only markup is that of ts_headline.
 */

/** Markup around a match. */
const marks = `StartSel=<b>,StopSel=</b>`

/**
 * Compiles an excerpt of the row of `alias`. It is the whole text where nothing matches by its stem, as in a fuzzy
 * search.
 */
export function compileHighlight(search: SearchPlan, alias: string): Sql {
  const columns = searchedColumns(search.vector)
  const escaped = compileEscaped(compileDocument(columns, alias))
  const query = compileQuery(search)
  return sql`
    case when ${compileVector(search.vector, alias)} @@ ${query}
      then ${headline(search)}(${compileConfig(search.vector)}, ${escaped}, ${query}, ${sql.literal(marks)})
      else ${escaped}
    end`
}

/**
 * Compiles `{"title": {"value": "…", "matchLevel": "full"}}`: each column in full, with all of its matches marked.
 */
export function compileHighlightResult(search: SearchPlan, alias: string): Sql {
  const query = compileQuery(search)
  const results = searchedColumns(search.vector).map((column) => {
    const escaped = compileEscaped(compileDocument([column], alias))
    const marked = sql`${headline(search)}(${compileConfig(search.vector)}, ${escaped}, ${query}, ${sql.literal(`${marks},HighlightAll=true`)})`
    return sql`(${sql.literal(column.name)}, ${marked})`
  })
  // No column of a matching record has an excluded word, except by similarity.
  return sql`(
    select json_object_agg(h.name, json_build_object(
      'value', h.value, 'matchLevel', case when h.value like '%<b>%' then 'full' else 'none' end))
    from (values ${sql.join(results)}) h (name, value))`
}

/** Returns the function that marks the matches. */
function headline({ vector }: SearchPlan): Sql {
  return vector.ignoresAccents ? sql`basalt.headline` : sql`ts_headline`
}

function compileEscaped(text: Sql): Sql {
  return sql`replace(replace(replace(${text}, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')`
}
