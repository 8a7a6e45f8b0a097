/** Quotes an SQL identifier. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`

/**
 * Parses a table name as a user types it: `todo`, `shop.todo`, or `"a.b"` for a name with dots. Without a schema, the schema is
 * `public`. Pure.
 */
export function readTableName(text: string): { readonly schema: string; readonly name: string } {
  const quoted = /"(?:[^"]|"")*"/.source
  const found = new RegExp(`^\\s*(?:(${quoted}|[^".]*)\\.)?(${quoted}|.*?)\\s*$`, 's').exec(text)
  return { schema: unquote(found?.[1] ?? 'public'), name: unquote(found?.[2] ?? '') }
}

/** Formats a table name for {@link readTableName}. */
export const writeTableName = (schema: string, name: string) => `${quoteOdd(schema)}.${quoteOdd(name)}`

const quoteOdd = (name: string) => (/[".()\s]/.test(name) ? quoteName(name) : name)

function unquote(name: string): string {
  return name.startsWith('"') && name.endsWith('"') && name.length > 1
    ? name.slice(1, -1).replaceAll('""', '"')
    : name.trim()
}

/** Quotes an SQL constant, independent of `standard_conforming_strings` (PostgreSQL manual, "String Constants"). */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? `E${quoted}` : quoted
}
