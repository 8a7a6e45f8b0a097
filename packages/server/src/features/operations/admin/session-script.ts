/**
 * How the server's own pages know the administrator: the token stays in the tab it was made in, in no address, no
 * cookie and no disk, and a page of another origin cannot read it.
 */
export const adminSessionScript = `
const adminSession = {
  read() {
    try {
      const kept = JSON.parse(sessionStorage.getItem('basalt.admin'))
      return kept && Date.parse(kept.expiresAt) > Date.now() ? kept : undefined
    } catch { return undefined }
  },
  keep({ token, expiresAt }) { sessionStorage.setItem('basalt.admin', JSON.stringify({ token, expiresAt })) },
  forget() { sessionStorage.removeItem('basalt.admin') },
}
`
