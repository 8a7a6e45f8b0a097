import { connection, isReachable, noteDisconnected } from './connection.ts'
import { waitFor } from './store.ts'

/**
 * A part of the page that is loaded when it is first shown. While the server is unavailable it waits, as requests do.
 *
 * @throws what the browser says of a part that the server does not have: one of another version of the page
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

/** The server may have come up after the part was refused. */
async function loadAgain<T>(load: () => Promise<T>, error: unknown): Promise<T> {
  await loadStyles()
  return await load().catch(() => {
    throw error
  })
}

/** Style sheets that failed: the loader takes them for loaded. */
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
