import { Button } from './button.tsx'
import styles from './code.module.css'
import { showToast } from './toasts.ts'

interface CodeProps {
  readonly children: string
  /** Label for screen readers. */
  readonly label: string
}

/** Shows a text to read and copy. Long texts scroll. */
export function Code({ children, label }: CodeProps) {
  return (
    <figure className={styles.code} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard. */}
      <pre tabIndex={0}>{children}</pre>
      <CopyButton text={children} label={label} />
    </figure>
  )
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <Button size="small" aria-label={`Copy ${label}`} onClick={() => void copyText(text)}>
      Copy
    </Button>
  )
}

/** Copies a text to the clipboard. Pages over plain HTTP have no clipboard, so the text has to be selected there. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    showToast('Copied.')
  } catch {
    showToast('The browser does not allow copying here. Select the text instead.', 'failure')
  }
}
