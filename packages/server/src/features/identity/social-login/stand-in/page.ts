import { createPage, escapeHtml, type Page } from '../../../../lib/page.ts'
import type { Person } from './people.ts'

export interface PageState {
  /** Title of the provider. */
  readonly title: string
  /** Parameters of the authorization request, which the form sends again. */
  readonly request: Readonly<Record<string, string>>
  readonly people: readonly Person[]
  readonly problem: string | undefined
}

/** Creates the page on which a developer chooses the person to sign in as. */
export function createPeoplePage({ title, request, people, problem }: PageState): Page {
  const hidden = Object.entries(request)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`)
    .join('')
  const listed = people.map(
    ({ name, email, isVerified }, index) =>
      `<p><button class="plain" name="choice" value="${index}">${escapeHtml(name)}${email === '' || email === name ? '' : `, ${escapeHtml(email)}`}${email === '' || isVerified ? '' : ' (not verified)'}</button></p>`,
  )
  return createPage({
    title: 'Sign in as…',
    application: `Stand-in for ${title}`,
    // The browser checks all redirects after the form. The last one leads to the application.
    formTargets: ['http:', 'https:'],
    body: `<div class="narrow">
<p class="warn" role="note"><strong>Development only.</strong> <code>basalt dev</code> shows this page instead of
${escapeHtml(title)}. No account there is used.</p>
<h1>Sign in as…</h1>
<form method="post">${hidden}
${listed.join('\n')}
</form>
<h2>Someone else</h2>
${problem === undefined ? '' : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`}
<form method="post">${hidden}
<p><label for="name">Name</label><input id="name" name="name" autocomplete="off"></p>
<p><label for="email">Address</label><input id="email" name="email" type="email" autocomplete="off"></p>
<p class="row"><button name="choice" value="verified">Sign in</button>
<button class="plain" name="choice" value="unverified">Sign in, address not verified</button></p>
</form>
<h2>Refuse</h2>
<form method="post">${hidden}
<p><button class="plain" name="choice" value="cancel">Cancel, as a user who refuses</button></p>
</form>
</div>`,
  })
}

/** Creates the page for a request that the stand-in refuses. */
export function createRefusalPage(problem: string): Page {
  return createPage({
    title: 'Refused',
    application: 'Stand-in for sign-in providers',
    body: `<h1>Refused</h1>\n<p>${escapeHtml(problem)}</p>`,
  })
}
