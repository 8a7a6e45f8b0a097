import { createPage, type Page } from '../../../lib/page.ts'
import { adminSessionScript } from './session-script.ts'

/** Where a one-time link leads. The code stands in the fragment, which browsers keep out of requests and logs. */
export const signInPath = '/admin/sign-in'

export function signInLink(publicBaseUrl: string, code: string): string {
  return `${publicBaseUrl}${signInPath}#code=${code}`
}

export function createSignInPage(): Page {
  return createPage({
    title: 'Administrator',
    body: `<h1>Administrator</h1>
<p id="say" role="status">Sign in to see the tables and to try requests without policies.</p>
<p id="wrong" class="bad" role="alert"></p>
<noscript><p>This page needs JavaScript. Without it: <code>POST /api/admin/auth</code> with <code>{"password": "…"}</code>.</p></noscript>
<section id="by-code" class="narrow" hidden>
<p><button id="go" type="button">Sign in</button></p>
</section>
<form id="by-password" class="narrow">
<p><label for="password">Password</label>
<input id="password" type="password" autocomplete="current-password" required maxlength="1024"></p>
<p><button id="enter">Sign in</button></p>
<p class="soft">The first start printed it. <code>basalt admin reset-password</code> makes a new one.</p>
</form>
<section id="done" hidden>
<p>The session ends <span id="until"></span>. It lasts in this tab until you close it.</p>
<div class="row">
<a class="button" href="/">See the tables</a>
<a class="button" href="/api/docs">Try the API</a>
<button id="sign-out" class="plain" type="button">Sign out</button>
</div>
<h2>For other programs</h2>
<p>Send the token as <code>Authorization: Bearer …</code>. It opens all data without policies: keep it secret.</p>
<p><label for="token">Admin token</label>
<input id="token" class="code" type="password" readonly autocomplete="off"></p>
<div class="row">
<button id="copy" class="plain" type="button">Copy</button>
<button id="reveal" class="plain" type="button" aria-pressed="false">Show</button>
</div>
</section>`,
    script: `${adminSessionScript}
const element = (id) => document.getElementById(id)
const code = new URLSearchParams(location.hash.slice(1)).get('code')
history.replaceState(null, '', location.pathname)

function showSignIn() {
  element('done').hidden = true
  element('by-code').hidden = !code
  element('by-password').hidden = Boolean(code)
  if (code) element('say').textContent = 'This link signs you in once. It asks for a click so that a mail scanner or a preview cannot use it up.'
}
function showSession({ token, expiresAt }) {
  element('by-code').hidden = element('by-password').hidden = true
  element('wrong').textContent = ''
  element('say').textContent = 'You are signed in.'
  element('token').value = token
  element('until').textContent = new Date(expiresAt).toLocaleString()
  element('done').hidden = false
}
function explain(status, answer, retryAfter) {
  if (status === 429) return 'Too many failed attempts from your address. Try again in ' + Math.ceil(retryAfter / 60) + ' minutes.'
  if (answer.error === 'invalid_password') return 'The password is wrong.'
  if (answer.error === 'invalid_sign_in_code') return 'This link was used already or has expired. Sign in with the password.'
  return answer.message.charAt(0).toUpperCase() + answer.message.slice(1) + '.'
}
async function signIn(credentials, button) {
  button.disabled = true
  element('wrong').textContent = ''
  try {
    const response = await fetch('/api/admin/auth', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(credentials),
    })
    const answer = await response.json()
    if (response.ok) {
      element('password').value = ''
      adminSession.keep(answer)
      showSession(answer)
    } else {
      element('wrong').textContent = explain(response.status, answer, Number(response.headers.get('retry-after')))
      if (answer.error === 'invalid_sign_in_code') { element('by-code').hidden = true; element('by-password').hidden = false }
      else if (credentials.password !== undefined) element('password').select()
    }
  } catch {
    element('wrong').textContent = 'The server does not answer. Try again.'
  }
  button.disabled = false
}
element('go').addEventListener('click', () => signIn({ code }, element('go')))
element('by-password').addEventListener('submit', (event) => {
  event.preventDefault()
  return signIn({ password: element('password').value }, element('enter'))
})
element('sign-out').addEventListener('click', async () => {
  const { token } = adminSession.read() ?? {}
  if (token) {
    try {
      const response = await fetch('/api/admin/auth/logout', { method: 'POST', headers: { authorization: 'Bearer ' + token } })
      // 401: it has ended already.
      if (!response.ok && response.status !== 401) throw new Error()
    } catch { element('wrong').textContent = 'The server does not answer: the token still works. Try again.'; return }
  }
  adminSession.forget()
  location.reload()
})
element('reveal').addEventListener('click', () => {
  const isShown = element('token').type === 'text'
  element('token').type = isShown ? 'password' : 'text'
  element('reveal').textContent = isShown ? 'Show' : 'Hide'
  element('reveal').setAttribute('aria-pressed', String(!isShown))
})
element('copy').addEventListener('click', async () => {
  // Browsers offer the clipboard over HTTPS and on this machine only.
  try { await navigator.clipboard.writeText(element('token').value); element('copy').textContent = 'Copied' }
  catch { element('token').type = 'text'; element('token').select() }
})

const kept = code ? undefined : adminSession.read()
if (kept) showSession(kept)
else showSignIn()`,
  })
}
