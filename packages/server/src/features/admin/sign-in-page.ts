import { createPage, type Page } from '../../lib/page.ts'

/** Where a one-time link leads. The code stands in the fragment, which browsers keep out of requests and logs. */
export const signInPath = '/admin/sign-in'

export function signInLink(publicBaseUrl: string, code: string): string {
  return `${publicBaseUrl}${signInPath}#code=${code}`
}

export function createSignInPage(): Page {
  return createPage({
    title: 'Administrator sign-in',
    body: `<h1>Administrator sign-in</h1>
<p id="say" role="status">This link signs you in once. It asks for a click so that a mail scanner or a preview cannot use it up.</p>
<p><button id="go" type="button">Sign in</button></p>
<section id="done" hidden>
<h2>Your admin token</h2>
<textarea id="token" rows="3" readonly aria-label="Admin token"></textarea>
<p>Send it as <code>Authorization: Bearer …</code>. It ends <span id="until"></span>.</p>
<p><a href="/api/docs">API reference</a></p>
</section>`,
    script: `
const say = document.getElementById('say'), go = document.getElementById('go')
const code = new URLSearchParams(location.hash.slice(1)).get('code')
history.replaceState(null, '', location.pathname)
if (!code) { say.textContent = 'This link carries no code. Use the one that was printed at the first start.'; go.disabled = true }
go.addEventListener('click', async () => {
  go.disabled = true
  let response, answer
  try {
    response = await fetch('/api/admin/auth', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }),
    })
    answer = await response.json()
  } catch {
    say.textContent = 'The server does not answer. Try again.'
    go.disabled = false
    return
  }
  if (!response.ok) { say.textContent = answer.message; go.disabled = response.status === 401; return }
  say.textContent = 'You are signed in.'
  document.getElementById('token').value = answer.token
  document.getElementById('until').textContent = new Date(answer.expiresAt).toLocaleString()
  document.getElementById('done').hidden = false
  document.getElementById('token').focus()
})`,
  })
}
