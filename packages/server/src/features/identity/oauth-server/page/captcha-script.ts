/**
 * Script that solves the proof of work of a form when it is sent. It hashes in chunks on the browser's own threads, so
 * that the page stays responsive.
 */
export const captchaScript = `
async function findNumber({ salt, challenge, maxnumber }) {
  const encoder = new TextEncoder()
  const hex = (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
  for (let first = 0; first <= maxnumber; first += 256) {
    const length = Math.min(256, maxnumber + 1 - first)
    const digests = await Promise.all(Array.from({ length }, (_, index) =>
      crypto.subtle.digest('SHA-256', encoder.encode(salt + (first + index)))))
    const index = digests.findIndex((digest) => hex(digest) === challenge)
    if (index !== -1) return first + index
  }
  throw new Error('no number solves the captcha')
}
for (const form of document.querySelectorAll('form[data-captcha]')) {
  const { captcha } = form.elements
  addEventListener('pageshow', () => { captcha.value = '' })
  form.addEventListener('submit', async (event) => {
    if (captcha.value !== '') return
    event.preventDefault()
    const button = form.querySelector('button')
    button.disabled = true
    try {
      const response = await fetch('/api/auth/captcha?route=' + form.dataset.captcha)
      const { algorithm, challenge, salt, signature, maxnumber } = await response.json()
      const number = await findNumber({ salt, challenge, maxnumber })
      captcha.value = btoa(JSON.stringify({ algorithm, challenge, number, salt, signature }))
    } catch {
      form.querySelector('[role=alert]').textContent = 'The check against robots failed. Try again.'
      return
    } finally {
      button.disabled = false
    }
    form.requestSubmit()
  })
}`
