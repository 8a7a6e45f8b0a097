import { Window } from 'happy-dom'
import type { ReactNode } from 'react'
import type { Root } from 'react-dom/client'
import { waitFor } from '../../../server/test/wait-for.ts'

/** A document in which components are mounted. */
export interface Page extends AsyncDisposable {
  /** Mounts into an element that is new, or that has what the server has rendered. */
  mount(element: ReactNode, rendered?: string): Promise<Mounted>
}

export interface Mounted {
  /** What is shown. */
  text(): string
  /** Waits until it is shown. */
  shows(text: string): Promise<void>
  /** What was thrown while it was taken over or rendered. */
  readonly errors: readonly unknown[]
  unmount(): void
}

/** React takes the document from the globals, which are there until the page is closed. */
export async function openPage(): Promise<Page> {
  const window = new Window()
  Object.assign(globalThis, { window, document: window.document })
  const { createRoot, hydrateRoot } = await import('react-dom/client')
  const roots = new Set<Root>()
  return {
    async mount(element, rendered) {
      const errors: unknown[] = []
      const onError = (error: unknown) => void errors.push(error)
      const handlers = { onRecoverableError: onError, onUncaughtError: onError, onCaughtError: onError }
      const container = document.createElement('div')
      let root: Root
      if (rendered === undefined) {
        root = createRoot(container, handlers)
        root.render(element)
      } else {
        container.innerHTML = rendered
        root = hydrateRoot(container, element, handlers)
      }
      roots.add(root)
      const text = () => container.textContent ?? ''
      return {
        text,
        errors,
        async shows(expected) {
          await waitFor(`${expected} in the page`, () => text() === expected, 15_000).catch((cause) => {
            throw new Error(`${String(cause)}; it shows ${text()}`)
          })
        },
        unmount() {
          roots.delete(root)
          root.unmount()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      for (const root of roots) root.unmount()
      await window.happyDOM.close()
      Reflect.deleteProperty(globalThis, 'window')
      Reflect.deleteProperty(globalThis, 'document')
    },
  }
}
