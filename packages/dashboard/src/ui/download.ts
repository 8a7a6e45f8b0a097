/** Saves a text as a file in the browser. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  // The browser reads the text within a minute.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
