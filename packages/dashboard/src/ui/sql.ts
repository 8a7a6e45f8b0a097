/** An identifier of SQL, in quotes. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`

/**
 * The name of a table as people type it, quoted where it has dots of its own: `todo`, `shop.todo`, `"a.b"`. Without a
 * schema it is in `public`. Pure.
 */
export function readTableName(text: string): { readonly schema: string; readonly name: string } {
  const quoted = /"(?:[^"]|"")*"/.source
  const found = new RegExp(`^\\s*(?:(${quoted}|[^".]*)\\.)?(${quoted}|.*?)\\s*$`, 's').exec(text)
  return { schema: unquote(found?.[1] ?? 'public'), name: unquote(found?.[2] ?? '') }
}

/** As it is read by {@link readTableName}. */
export const writeTableName = (schema: string, name: string) => `${quoteOdd(schema)}.${quoteOdd(name)}`

const quoteOdd = (name: string) => (/[".()\s]/.test(name) ? quoteName(name) : name)

function unquote(name: string): string {
  return name.startsWith('"') && name.endsWith('"') && name.length > 1
    ? name.slice(1, -1).replaceAll('""', '"')
    : name.trim()
}

/** A constant of SQL, whatever `standard_conforming_strings` says (PostgreSQL manual, "String Constants"). */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? `E${quoted}` : quoted
}
