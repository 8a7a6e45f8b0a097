/** Maximum number of keys that a text may mean. For more, the log is read. */
const mostKeys = 64

/**
 * Returns the primary keys, as the log has them, whose values joined by commas are the text. A value may be a string or
 * a number, and a string may contain commas. Returns undefined if there are too many.
 */
export function recordKeysOf(text: string): readonly string[] | undefined {
  const keys = keysOf(text.split(','))
  return keys === undefined ? undefined : keys.map((values) => `[${values.join(', ')}]`)
}

/** Returns lists of JSON values, each made of one or more of the parts. */
function keysOf(parts: readonly string[]): readonly (readonly string[])[] | undefined {
  if (parts.length === 0) return [[]]
  const keys: (readonly string[])[] = []
  for (let count = 1; count <= parts.length; count += 1) {
    const rest = keysOf(parts.slice(count))
    if (rest === undefined) return undefined
    const first = valuesOf(parts.slice(0, count).join(','))
    keys.push(...first.flatMap((value) => rest.map((values) => [value, ...values])))
    if (keys.length > mostKeys) return undefined
  }
  return keys
}

/** Returns the JSON of a text, and of the number or boolean that it may mean. */
function valuesOf(text: string): readonly string[] {
  const isLiteral = /^(?:-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false)$/.test(text)
  return isLiteral ? [JSON.stringify(text), text] : [JSON.stringify(text)]
}
