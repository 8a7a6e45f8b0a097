/** A text as a constant of SQL (PostgreSQL manual, "String Constants"). */
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
