/** Returns URL parameters with some changed. An empty value removes a parameter. Pure. */
export function withParameters(
  search: URLSearchParams,
  changed: Readonly<Record<string, string | undefined>>,
): URLSearchParams {
  const next = new URLSearchParams(search)
  for (const [name, value] of Object.entries(changed)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  return next
}
