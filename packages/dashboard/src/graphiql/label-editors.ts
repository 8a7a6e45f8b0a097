/**
 * Gives the text field of each editor the name of its section for screen readers, which CodeMirror 5 leaves out.
 * Editors appear once their code is loaded.
 *
 * @returns a function that stops it
 */
export function labelEditors(root: Element): () => void {
  const label = () => {
    for (const field of root.querySelectorAll('.CodeMirror textarea:not([aria-label])')) {
      field.setAttribute('aria-label', field.closest('[aria-label]')?.getAttribute('aria-label') ?? '')
    }
  }
  const observer = new MutationObserver(label)
  observer.observe(root, { childList: true, subtree: true })
  label()
  return () => observer.disconnect()
}
