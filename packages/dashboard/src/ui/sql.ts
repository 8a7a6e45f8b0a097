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

/** Reserved words (PostgreSQL, SQL Key Words). */
const reserved = new Set(
  `all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create current_user
  default deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect
  into lateral leading limit not null offset on only or order placing primary references returning select session_user some
  symmetric system_user table then to trailing true union unique user using variadic when where window with`.split(
    /\s+/,
  ),
)

/** Quotes a name unless SQL reads it the same without quotes. */
export const quoteIfNeeded = (name: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : quoteName(name)

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
