/** An identifier of SQL, in quotes. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`

/** A constant of SQL, whatever `standard_conforming_strings` says (PostgreSQL manual, "String Constants"). */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? `E${quoted}` : quoted
}
