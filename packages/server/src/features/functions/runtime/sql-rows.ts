import type { Answer } from '../../../database/connection/message.ts'
import { jsonReader } from '../../../database/json-values.ts'

/** Formats the rows of a described call as a JSON array of objects. Numbers keep their digits. */
export function formatRows({ rows, columns = [] }: Answer): string {
  const readers = columns.map(({ name, typeId }) => ({
    name: JSON.stringify(name),
    read: jsonReader(typeId),
  }))
  const records = rows.map((row) => {
    const members = readers.map(({ name, read }, index) => {
      const text = row[index]
      return `${name}:${text == null ? 'null' : JSON.stringify(read(text))}`
    })
    return `{${members.join(',')}}`
  })
  return `[${records.join(',')}]`
}
