/** Time within which a receiver of logs or traces must respond. */
const timeoutMs = 10_000

/**
 * Posts JSON to a URL that the operator configured.
 *
 * @returns true if it was accepted; false if a retry would be rejected, too
 * @throws Error when a retry may succeed
 */
export async function postJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<boolean> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  await response.body?.cancel()
  if (response.ok) return true
  if (response.status < 500 && response.status !== 408 && response.status !== 429) return false
  throw new Error(`the receiver answered ${response.status}`)
}
