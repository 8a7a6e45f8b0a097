/** Minimum length of a line that is replaced by itself. Logs split a key of several lines. */
const shortestLine = 16

/**
 * Creates a function that replaces secret values in a text by their names: as they are, in JSON, in URLs and in Base64. A
 * secret of several lines is also found line by line. A name may have several values.
 */
export function createRedactor(
  secrets: Iterable<readonly [name: string, value: string]>,
): (text: string) => string {
  const names = new Map<string, string>()
  for (const [name, value] of secrets) {
    for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name)
  }
  if (names.size === 0) return (text) => text
  // The alternation tries longer forms first, so that no rest of a secret remains.
  const forms = [...names.keys()].toSorted((a, b) => b.length - a.length)
  const pattern = new RegExp(
    forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'),
    'g',
  )
  return (text) => text.replace(pattern, (form) => `[${names.get(form)}]`)
}

function formsOf(value: string): Set<string> {
  const bytes = Buffer.from(value)
  const lines = value.split(/\r?\n/).filter((line) => line.length >= shortestLine)
  return new Set([
    value,
    ...lines,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    new URLSearchParams({ v: value }).toString().slice(2),
    // Base64 of a text that continues after the secret has the same characters, except in the last group.
    bytes.toString('base64').replace(/.?.=+$/, ''),
    bytes.toString('base64url').slice(0, Math.floor(bytes.length / 3) * 4),
  ])
}
