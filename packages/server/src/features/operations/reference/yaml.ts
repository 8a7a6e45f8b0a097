/**
 * Text that YAML 1.2 and 1.1 read as a string without quotes, in every position. Words such as `no` and `null` are excluded, and
 * `e0`, which a reader of 1.1 finds to be a number.
 */
const plainKey = /^(?!(?:y|n|yes|no|on|off|true|false|null|~|e-?\d+)$)[A-Za-z_][\w-]*$/i

/**
 * Formats a JSON value as YAML in block style. Its scalars are those of JSON, which are also YAML (YAML 1.2.2, §1.3), so no
 * text can be read as another type. Libraries take 70 times the time of `JSON.stringify` for this (docs/decisions, "The API
 * document as YAML").
 */
export function formatYaml(json: string): string {
  return `${formatNode(JSON.parse(json), '').trimStart()}\n`
}

/** Returns the text after a key or a dash, with the blank or line break before it. */
function formatNode(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []'
    return value.map((item) => `\n${indent}-${formatNode(item, `${indent}  `)}`).join('')
  }
  if (typeof value !== 'object' || value === null) return ` ${formatScalar(value)}`
  const members = Object.entries(value)
  if (members.length === 0) return ' {}'
  return members
    .map(([key, member]) => `\n${indent}${formatKey(key)}:${formatNode(member, `${indent}  `)}`)
    .join('')
}

function formatKey(key: string): string {
  return plainKey.test(key) ? key : formatScalar(key)
}

/** YAML breaks lines at these characters, too, also in quotes. */
const lineBreaks = /[\u0085\u2028\u2029\ufeff\u007f-\u009f]/g

function formatScalar(value: unknown): string {
  return JSON.stringify(value).replace(
    lineBreaks,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
