/** Maximum length of a provider's text that is passed on. */
const maxLength = 200

/**
 * Replaces the values wherever they occur, plainly or as URLs, forms and JSON encode them. Returns one line
 * of limited length.
 */
export function redact(text: string, values: readonly string[]): string {
  const forms = values.flatMap((value) => [
    inOneLine(value),
    encodeURIComponent(value.toWellFormed()),
    new URLSearchParams([['', value]]).toString().slice(1),
    inOneLine(JSON.stringify(value).slice(1, -1)),
  ])
  // The longest comes first, because a value that contains another must be removed as a whole.
  const ordered = [...new Set(forms)].filter((form) => form !== '').sort((a, b) => b.length - a.length)
  return ordered
    .reduce((rest, form) => rest.replaceAll(form, '[redacted]'), inOneLine(text))
    .slice(0, maxLength)
}

function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}
