/** Time a receiver of logs or traces has to answer. */
const timeoutMs = 10_000

/**
 * Posts JSON to a place that the operator configured.
 *
 * @returns whether it was accepted; false when sending it again would be refused again
 * @throws Error when it may be accepted later
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
