/** Saves a text as a file in the browser. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  // By then the browser has read the text.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
