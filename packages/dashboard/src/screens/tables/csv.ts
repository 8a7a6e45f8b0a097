/** Functions that read CSV files. Pure. */

/** Reads the first rows of a CSV file (RFC 4180). The last row may be incomplete. */
export function readCsv(text: string, mostRows: number): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let field = ''
  let isQuoted = false
  for (let position = 0; position < text.length && rows.length < mostRows; position += 1) {
    const character = text.charAt(position)
    if (isQuoted) {
      if (character !== '"') field += character
      else if (text[position + 1] === '"') {
        field += '"'
        position += 1
      } else isQuoted = false
    } else if (character === '"' && field === '') isQuoted = true
    else if (character === ',') {
      row.push(field)
      field = ''
    } else if (character === '\n' || character === '\r') {
      if (character === '\r' && text[position + 1] === '\n') position += 1
      row.push(field)
      if (row.length > 1 || row[0] !== '') rows.push(row)
      row = []
      field = ''
    } else field += character
  }
  if (rows.length < mostRows && (field !== '' || row.length > 0)) rows.push([...row, field])
  return rows
}

/** Returns the length of the header, so that it can be replaced without reading the rest. */
export function headerLength(text: string): number {
  let isQuoted = false
  for (let position = 0; position < text.length; position += 1) {
    const character = text[position]
    if (character === '"') isQuoted = !isQuoted
    else if (!isQuoted && (character === '\n' || character === '\r')) return position
  }
  return text.length
}

export const csvField = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns the column that a header names, exactly or by the same letters. */
export function guessColumn(header: string, columns: readonly string[]): string {
  const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  return (
    columns.find((name) => name === header) ?? columns.find((name) => plain(name) === plain(header)) ?? ''
  )
}
