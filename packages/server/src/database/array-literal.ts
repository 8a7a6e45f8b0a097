/** Formats an array in PostgreSQL's text format (PostgreSQL manual, "Array Input and Output Syntax"). */
export function arrayLiteral(values: readonly (string | null)[]): string {
  const elements = values.map((value) => (value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`))
  return `{${elements.join(',')}}`
}
