import type { HttpServer } from '../../http/server.ts'
import { createPage, type Page } from '../../lib/page.ts'

/**
 * The pages behind mailed links. Each asks for one click before it uses the token up, because mail scanners and previews
 * open links too; the token leaves the address bar at once.
 */
export function accountPages(app: HttpServer): void {
  const pages: Readonly<Record<string, Page>> = {
    '/auth/verify': createVerifyPage(),
    '/auth/magic-link': createMagicLinkPage(),
    '/auth/reset-password': createResetPage(),
  }
  for (const [path, page] of Object.entries(pages)) {
    app.get(
      path,
      { config: { guard: 'public', operation: `accounts.page:${path}` }, schema: { hide: true } },
      (_request, reply) =>
        reply
          .header('content-security-policy', page.contentSecurityPolicy)
          .header('referrer-policy', 'no-referrer')
          .header('cache-control', 'no-store')
          .type('text/html; charset=utf-8')
          .send(page.html),
    )
  }
}

/** Reads the token, and posts a body to an endpoint; used by all three pages. */
const common = `
const say = document.getElementById('say'), form = document.getElementById('form'), go = document.getElementById('go')
const token = new URLSearchParams(location.search).get('token')
history.replaceState(null, '', location.pathname)
if (!token) { say.textContent = 'This link is not complete. Open it as it stands in the mail.'; form.hidden = true }
async function post(path, body) {
  go.disabled = true
  try {
    const response = await fetch(path, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
    })
    const answer = await response.json()
    if (response.ok) return answer
    say.textContent = answer.message.charAt(0).toUpperCase() + answer.message.slice(1) + '.'
  } catch {
    say.textContent = 'The server cannot be reached. Try again.'
  }
  go.disabled = false
}
`

function createVerifyPage(): Page {
  return createPage({
    title: 'Verify your email',
    body: `<h1>Verify your email</h1>
<p id="say" role="status">Somebody made an account with this address. If it was you, confirm that the address is yours.</p>
<form id="form"><button id="go">This is my address</button></form>`,
    script: `${common}
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (await post('/api/auth/verify', { token })) { say.textContent = 'Your email is verified.'; form.hidden = true }
})`,
  })
}

function createMagicLinkPage(): Page {
  return createPage({
    title: 'Sign in',
    body: `<h1>Sign in</h1>
<p id="say" role="status">This link signs you in once.</p>
<form id="form"><button id="go">Sign in</button></form>
<section id="done" hidden>
<h2>Your tokens</h2>
<p><label for="token">Access token</label></p><textarea id="token" rows="4" readonly></textarea>
<p><label for="refresh">Refresh token</label></p><textarea id="refresh" rows="3" readonly></textarea>
</section>`,
    script: `${common}
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const answer = await post('/api/auth/magic-link/confirm', { token })
  if (!answer) return
  form.hidden = true
  if (answer.mfa_pending) { say.textContent = 'A second factor is needed: continue in the application.'; return }
  say.textContent = 'You are signed in as ' + answer.user.email + '.'
  document.getElementById('token').value = answer.token
  document.getElementById('refresh').value = answer.refreshToken
  document.getElementById('done').hidden = false
})`,
  })
}

function createResetPage(): Page {
  return createPage({
    title: 'Choose a new password',
    body: `<h1>Choose a new password</h1>
<p id="say" role="status">All your sessions will end.</p>
<form id="form">
<p><label for="password">New password</label><br>
<input id="password" type="password" autocomplete="new-password" required maxlength="1024"></p>
<button id="go">Set password</button>
</form>`,
    script: `${common}
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const password = document.getElementById('password').value
  if (await post('/api/auth/password-reset/confirm', { token, password })) {
    say.textContent = 'Your password is set. You can sign in with it now.'; form.hidden = true
  }
})`,
  })
}
