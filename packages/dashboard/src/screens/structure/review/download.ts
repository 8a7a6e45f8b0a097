/** Has the browser save a text as a file. */
export function download(name: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type: 'application/sql' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
