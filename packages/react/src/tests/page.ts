import { Window } from 'happy-dom'
import type { ReactNode } from 'react'
import type { Root } from 'react-dom/client'
import { waitFor } from '../../../server/test/wait-for.ts'

/** Document in which components are mounted. */
export interface Page extends AsyncDisposable {
  /** Mounts into a new element, or into one that contains the server-rendered HTML. */
  mount(element: ReactNode, rendered?: string): Promise<MountedElement>
}

export interface MountedElement {
  /** Returns the text of the element. */
  text(): string
  /** Waits until the element has exactly this text. */
  shows(text: string): Promise<void>
  /** Errors of hydration and rendering. */
  readonly errors: readonly unknown[]
  unmount(): void
}

/** Opens a page. React uses the global document, which exists until the page is closed. */
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
