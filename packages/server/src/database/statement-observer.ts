/**
 * Observer that is called when statements are sent. The function that it returns is called when they have
 * ended, with the reason of a failure.
 *
 * @param text of the statements, without values
 */
export type StatementObserver = (text: () => string) => ((error?: unknown) => void) | undefined

export function observed<Result>(
  observe: StatementObserver,
  text: () => string,
  running: Promise<Result>,
): Promise<Result> {
  const end = observe(text)
  if (end !== undefined)
    running.then(
      () => end(),
      (error) => end(error),
    )
  return running
}
