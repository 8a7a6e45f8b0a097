/**
 * The outcome of the work, or a rejection with the signal's reason as soon as it comes; what the work does after that
 * concerns no one, and a failure of it is dropped.
 */
export async function untilAborted<Result>(
  signal: AbortSignal | undefined,
  work: Promise<Result>,
): Promise<Result> {
  if (signal === undefined) return await work
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
}
