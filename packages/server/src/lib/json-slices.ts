/**
 * Slices an object into the texts of its members, by name. Values can so be passed on as they were written:
 * parsing and printing would lose digits of large numbers. The last member with a repeated name counts, as in
 * `JSON.parse`, which must have accepted the text.
 */
export function sliceObject(text: string): Map<string, string> {
  const members = new Map<string, string>()
  let position = skipSpace(text, skipSpace(text, 0) + 1)
  while (text[position] === '"') {
    const nameEnd = endOfString(text, position)
    const name = JSON.parse(text.slice(position, nameEnd)) as string
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = endOfValue(text, start)
    members.set(name, text.slice(start, end))
    position = skipSpace(text, skipSpace(text, end) + 1)
  }
  return members
}

/** Slices an array into the texts of its elements. `JSON.parse` must have accepted the text. */
export function sliceArray(text: string): string[] {
  const elements: string[] = []
  let position = skipSpace(text, skipSpace(text, 0) + 1)
  while (position < text.length && text[position] !== ']') {
    const end = endOfValue(text, position)
    elements.push(text.slice(position, end))
    position = skipSpace(text, skipSpace(text, end) + 1)
  }
  return elements
}

/** Returns true if arrays and objects are nested more than so many levels deep. */
export function nestsDeeperThan(levels: number, text: string): boolean {
  // A text that does is longer than its brackets.
  if (text.length <= 2 * levels) return false
  let depth = 0
  for (let position = 0; position < text.length; position += 1) {
    const character = text[position]
    if (character === '"') position = endOfString(text, position) - 1
    else if (character === '{' || character === '[') {
      depth += 1
      if (depth > levels) return true
    } else if (character === '}' || character === ']') depth -= 1
  }
  return false
}

function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfString(text, start)
  if (first === '{' || first === '[') return endOfContainer(text, start)
  // A number, true, false or null ends before the next token.
  let position = start
  while (position < text.length && !',]} \t\r\n'.includes(text.charAt(position))) position += 1
  return position
}

function endOfContainer(text: string, start: number): number {
  let depth = 0
  for (let position = start; position < text.length; position += 1) {
    const character = text[position]
    if (character === '"') position = endOfString(text, position) - 1
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') {
      depth -= 1
      if (depth === 0) return position + 1
    }
  }
  return text.length
}

function endOfString(text: string, start: number): number {
  let position = start + 1
  while (position < text.length && text[position] !== '"') position += text[position] === '\\' ? 2 : 1
  return position + 1
}

function skipSpace(text: string, start: number): number {
  let position = start
  while (position < text.length && ' \t\r\n'.includes(text.charAt(position))) position += 1
  return position
}
