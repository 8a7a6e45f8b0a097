import { Button } from './button.tsx'
import styles from './code.module.css'
import { showToast } from './toasts.ts'

interface CodeProps {
  readonly children: string
  /** For screen readers: what it is. */
  readonly label: string
}

/** A text to read and copy; long ones scroll. */
export function Code({ children, label }: CodeProps) {
  return (
    <figure className={styles.code} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
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

/** To the clipboard, which pages over plain HTTP do not have: there the text can only be selected. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    showToast('Copied.')
  } catch {
    showToast('The browser does not allow copying here; select the text instead.', 'failure')
  }
}
