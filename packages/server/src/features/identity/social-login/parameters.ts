/** Returns a parameter of the provider's response unless it is empty or repeated (RFC 6749 §3.1). */
export function onlyOne(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name)
  return values.length === 1 && values[0] !== '' ? values[0] : undefined
}
