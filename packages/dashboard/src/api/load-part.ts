import { connection, isReachable, noteDisconnected } from './connection.ts'
import { waitFor } from './store.ts'

/**
 * Loads a part of the page when it is first shown. While the server is unavailable it waits, as requests do.
 *
 * @throws the browser error if the server does not have the part, which then belongs to another version of the page
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load()
    } catch (error) {
      if (await isReachable()) return await loadAgain(load, error)
      noteDisconnected()
      await waitFor(connection, (state) => state === 'connected')
      await loadStyles()
    }
  }
}

/** Retries a part. The server may have become available after the first failure. */
async function loadAgain<T>(load: () => Promise<T>, error: unknown): Promise<T> {
  await loadStyles()
  return await load().catch(() => {
    throw error
  })
}

/** Reloads style sheets that failed. The loader treats them as loaded. */
async function loadStyles(): Promise<void> {
  const links = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')]
  await Promise.all(
    links
      .filter(({ sheet }) => sheet === null)
      .map(
        (link) =>
          new Promise((resolve) => {
            const again = document.createElement('link')
            again.rel = 'stylesheet'
            again.href = link.href
            again.onload = again.onerror = resolve
            link.replaceWith(again)
          }),
      ),
  )
}
