const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether the text is a UUID as RFC 9562 §4 writes it. */
export function isUuid(text: string): boolean {
  return form.test(text)
}
